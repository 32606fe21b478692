// The cells that have units and weights: LSTM, GRU, plain.
#include "belfry/base/check.h"
#include "belfry/nn/internal/cell_body.h"
#include "belfry/nn/internal/recurrent_variables.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/matmul.h"

namespace belfry {
namespace {

// A cell with options.units units, whose state is one or several tensors of that size and whose output is the first.
template <class Options>
class UnitCell : public CellBody {
 public:
  struct Kind {
    const char* name = "";
    std::size_t states = 1;
  };
  UnitCell(std::string_view name, const Options& options, const Kind& kind, const Location& where)
      : scope_(name, kind.name, where), options_(options), sizes_(kind.states, options.units) {
    BELFRY_CHECK(options.units > 0, "{} expected .units above 0, got {} (at {})", scope_.title(), options.units,
                 to_string(where));
  }

  const std::string& name() const override { return scope_.name(); }
  const Ints& state_sizes() const override { return sizes_; }
  std::int64_t output_size() const override { return options_.units; }

 protected:
  const CellScope& scope() const { return scope_; }
  const Options& options() const { return options_; }

 private:
  CellScope scope_;
  Options options_;
  Ints sizes_;
};

class LstmCell final : public UnitCell<LstmCellOptions> {
 public:
  LstmCell(std::string_view name, const LstmCellOptions& options, const Location& where)
      : UnitCell(name, options, {.name = "lstm cell", .states = 2}, where) {}

  bool passes_on(std::size_t state) const override { return state == 0; }
  RnnStep step(const Tensor& x, const Tensors& state) const override {
    LstmState next;
    scope().inside([&] { next = lstm_cell(x, lstm_weights(options(), x), {state[0], state[1]}); });
    return {.output = next.h, .state = {next.h, next.c}};
  }
  RnnResult over_time(const CellSequence& s) const override {
    if (s.written_out) return CellBody::over_time(s);
    LstmResult r;
    scope().inside([&] {
      r = belfry::lstm(s.x, lstm_weights(options(), s.x), {s.initial[0], s.initial[1]}, {.lengths = s.lengths});
    });
    return {.output = r.h, .last = {r.last.h, r.last.c}};
  }
};

class GruCell final : public UnitCell<GruCellOptions> {
 public:
  GruCell(std::string_view name, const GruCellOptions& options, const Location& where)
      : UnitCell(name, options, {.name = "gru cell"}, where) {}

  RnnStep step(const Tensor& x, const Tensors& state) const override {
    Tensor next;
    scope().inside([&] { next = gru_cell(x, gru_weights(options(), x), state[0]); });
    return {.output = next, .state = {next}};
  }
  RnnResult over_time(const CellSequence& s) const override {
    if (s.written_out) return CellBody::over_time(s);
    GruResult r;
    scope().inside([&] { r = belfry::gru(s.x, gru_weights(options(), s.x), s.initial[0], {.lengths = s.lengths}); });
    return {.output = r.h, .last = {r.last}};
  }
};

class PlainCell final : public UnitCell<PlainCellOptions> {
 public:
  PlainCell(std::string_view name, const PlainCellOptions& options, const Location& where)
      : UnitCell(name, options, {.name = "plain cell"}, where) {
    BELFRY_CHECK(static_cast<bool>(options.activation), "{} expected an .activation, got an empty one (at {})",
                 scope().title(), to_string(where));
  }

  RnnStep step(const Tensor& x, const Tensors& state) const override {
    RnnStep out;
    scope().inside([&] {
      const Weights w = weights(x);
      out = next(project(x, w), w, state);
    });
    return out;
  }
  // Projects the inputs of all steps in one product.
  RnnResult over_time(const CellSequence& s) const override {
    if (s.written_out) return CellBody::over_time(s);
    RnnResult out;
    scope().inside([&] {
      const Weights w = weights(s.x);
      const Tensor flat = project(reshape(s.x, {kAny, s.x.shape()[2]}), w);
      CellSequence projected = s;
      projected.x = reshape(flat, {size_of(s.x, 0), size_of(s.x, 1), output_size()});
      out = step_by_step(projected, output_size(),
                         [&](const Tensor& a, const Tensors& state) { return next(a, w, state); });
    });
    return out;
  }

 private:
  struct Weights {
    Tensor w_x, w_h, b;
  };
  Weights weights(const Tensor& x) const {
    const PlainCellOptions& o = options();
    const RecurrentVariables variables(o, x, 1);
    return {variables.w_x(), variables.w_h(),
            variables.bias("b", o.bias_initializer ? o.bias_initializer : init::zeros())};
  }
  // x W_x + b, for x [rows, features]
  static Tensor project(const Tensor& x, const Weights& w) {
    const Tensor product = matmul(x, w.w_x);
    return w.b ? product + w.b : product;
  }
  RnnStep next(const Tensor& projected, const Weights& w, const Tensors& state) const {
    const Tensor h = options().activation(projected + matmul(state[0], w.w_h), "");
    return {.output = h, .state = {h}};
  }
};

}  // namespace

namespace cell {

RnnCell lstm(std::string_view name, const LstmCellOptions& options, const Location& where) {
  return RnnCell(std::make_shared<LstmCell>(name, options, where));
}
RnnCell gru(std::string_view name, const GruCellOptions& options, const Location& where) {
  return RnnCell(std::make_shared<GruCell>(name, options, where));
}
RnnCell plain(std::string_view name, const PlainCellOptions& options, const Location& where) {
  return RnnCell(std::make_shared<PlainCell>(name, options, where));
}

}  // namespace cell
}  // namespace belfry
