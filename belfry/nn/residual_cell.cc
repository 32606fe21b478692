#include "belfry/base/check.h"
#include "belfry/nn/internal/cell_body.h"
#include "belfry/nn/internal/wrapped_cell.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

class ResidualCell final : public WrappedCell {
 public:
  using WrappedCell::WrappedCell;

  RnnStep step(const Tensor& x, const Tensors& state) const override {
    check_size(x);
    RnnStep out = around()(x, state);
    out.output = out.output + x;
    return out;
  }
  RnnResult over_time(const CellSequence& s) const override {
    check_size(s.x);
    RnnResult out = around().body().over_time(s);
    out.output = out.output + (s.lengths ? within_lengths(s) : s.x);
    return out;
  }
  std::shared_ptr<const CellBody> begin(const Tensor& x) const override {
    const RnnCell begun = around().begin(x);
    return &begun.body() == &around().body() ? nullptr : std::make_shared<ResidualCell>(begun);
  }

 private:
  // x, and zeros beyond each row's length.
  static Tensor within_lengths(const CellSequence& s) {
    const Tensor step = expand_dims(range(0, size_of(s.x, 0)), {1, 2});
    return select(step < expand_dims(cast(s.lengths, i64), {0, 2}), s.x, zeros_like(s.x));
  }
  void check_size(const Tensor& x) const {
    const std::int64_t features = x.shape()[x.rank() - 1];
    BELFRY_CHECK(features == output_size(),
                 "[residual cell '{}'] expected an input as wide as the output, to which it is added, got {} features "
                 "and {} outputs (at {})",
                 name(), features, output_size(), to_string(current_location({})));
  }
};

}  // namespace

RnnCell cell::residual(const RnnCell& around) { return RnnCell(std::make_shared<ResidualCell>(around)); }

}  // namespace belfry
