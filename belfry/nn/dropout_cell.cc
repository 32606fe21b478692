#include "belfry/base/check.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/nn/internal/wrapped_cell.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/random.h"

namespace belfry {
namespace {

// The factors for a sequence, [batch, size] each; empty: nothing is dropped.
struct Masks {
  Tensor input{}, output{};
  Tensors state{};
};

class DropoutCell final : public WrappedCell {
 public:
  DropoutCell(RnnCell around, const DropoutCellOptions& options) : WrappedCell(std::move(around)), o_(options) {}
  DropoutCell(RnnCell around, const DropoutCellOptions& options, Masks masks)
      : WrappedCell(std::move(around)), o_(options), begun_(true), masks_(std::move(masks)) {}

  RnnStep step(const Tensor& x, const Tensors& state) const override {
    check_begun();
    RnnStep out = around()(drop(x, o_.input, masks_.input), state);
    out.output = drop(out.output, o_.output, masks_.output);
    for (std::size_t i = 0; i < state.size(); ++i)
      if (passes_on(i)) out.state[i] = drop(out.state[i], o_.state, begun_ ? masks_.state[i] : Tensor());
    return out;
  }

  // Dropout outside the recurrence is applied to all steps at once.
  RnnResult over_time(const CellSequence& s) const override {
    check_begun();
    if (s.written_out || (o_.state > 0 && trains())) return CellBody::over_time(s);
    CellSequence inner = s;
    inner.x = drop(s.x, o_.input, masks_.input);
    RnnResult out = around().body().over_time(inner);
    out.output = drop(out.output, o_.output, masks_.output);
    return out;
  }

  std::shared_ptr<const CellBody> begin(const Tensor& x) const override {
    const RnnCell inner = around().begin(x);
    if (!o_.variational) return &inner.body() == &around().body() ? nullptr : std::make_shared<DropoutCell>(inner, o_);
    const bool drops = trains();
    const auto mask = [&](double rate, std::int64_t size, const char* name) {
      return drops && rate > 0 ? belfry::dropout(ones({size_of(x, 0), size}, x.dtype()), rate, name) : Tensor();
    };
    const NameScope scope("dropout");
    Masks masks{.input = mask(o_.input, x.shape()[1], "input"), .output = mask(o_.output, output_size(), "output")};
    for (std::size_t i = 0; i < state_sizes().size(); ++i)
      masks.state.push_back(passes_on(i) ? mask(o_.state, state_sizes()[i], "") : Tensor());
    return std::make_shared<DropoutCell>(inner, o_, std::move(masks));
  }

 private:
  bool trains() const { return layer_trains("dropout cell"); }
  Tensor drop(const Tensor& x, double rate, const Tensor& mask) const {
    if (o_.variational) return mask ? x * mask : x;
    return rate > 0 && trains() ? belfry::dropout(x, rate) : x;
  }
  void check_begun() const {
    BELFRY_CHECK(!o_.variational || begun_,
                 "[dropout cell '{}'] expected a sequence to begin before its first step, to draw what all steps drop, "
                 "got a step (at {}). Call the cell that .begin(x) returns, or use rnn() or unroll().",
                 name(), to_string(current_location({})));
  }

  DropoutCellOptions o_;
  bool begun_ = false;
  Masks masks_;
};

}  // namespace

RnnCell cell::dropout(const RnnCell& around, const DropoutCellOptions& options, const Location& where) {
  for (const auto& [rate, what] :
       {std::pair(options.input, ".input"), std::pair(options.output, ".output"), std::pair(options.state, ".state")})
    BELFRY_CHECK(rate >= 0 && rate < 1, "[dropout cell '{}'] expected {} in [0, 1), got {} (at {})", around.name(),
                 what, rate, to_string(where));
  return RnnCell(std::make_shared<DropoutCell>(around, options));
}

}  // namespace belfry
