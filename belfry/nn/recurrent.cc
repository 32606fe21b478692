#include "belfry/nn/recurrent.h"

#include "belfry/base/check.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/layer_checks.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/random.h"

namespace belfry {
namespace {

Tensor swap_batch_and_time(const Tensor& x) { return transpose(x, {1, 0, 2}); }

template <class Options>
void check_options(const char* kind, const Options& o, const Tensor& x, std::size_t states) {
  BELFRY_CHECK(o.units > 0, "{} expected .units above 0, got {} {}", layer_title(kind), o.units, layer_line());
  BELFRY_CHECK(o.layers > 0, "{} expected .layers above 0, got {} {}", layer_title(kind), o.layers, layer_line());
  BELFRY_CHECK(o.dropout >= 0 && o.dropout < 1, "{} expected .dropout in [0, 1), got {} {}", layer_title(kind),
               o.dropout, layer_line());
  BELFRY_CHECK(states == 0 || states == static_cast<std::size_t>(o.layers),
               "{} expected an initial state for each of {} layers or none, got {} {}", layer_title(kind), o.layers,
               states, layer_line());
  check_rank(kind, x, 3, o.batch_first ? "sequences [batch, time, features]" : "sequences [time, batch, features]");
  known_size(kind, x, 2, "features");
}

// The variables of one layer, in its scope.
template <class Options>
class LayerVariables {
 public:
  LayerVariables(const Options& options, const Tensor& x, std::int64_t gates)
      : o_(options), features_(x.shape()[2]), width_(gates * options.units), dtype_(x.dtype()) {}

  Tensor w_x() const { return weights("W_x", features_, o_.kernel_initializer, o_.kernel_regularizer); }
  Tensor w_h() const {
    return weights("W_h", o_.units, o_.recurrent_initializer,
                   o_.recurrent_regularizer ? o_.recurrent_regularizer : o_.kernel_regularizer);
  }
  Tensor bias(const char* name, const Initializer& initializer) const {
    if (!o_.use_bias) return {};
    return get_variable(
        name, {.shape = {width_}, .dtype = dtype_, .initializer = initializer, .regularizer = o_.bias_regularizer});
  }

 private:
  Tensor weights(const char* name, std::int64_t inputs, const Initializer& initializer,
                 const Regularizer& regularizer) const {
    return get_variable(
        name, {.shape = {inputs, width_}, .dtype = dtype_, .initializer = initializer, .regularizer = regularizer});
  }

  const Options& o_;
  std::int64_t features_, width_;
  DType dtype_;
};

// Layer after layer; step(k, x) builds layer k and gives what it passes on.
template <class Options, class Step>
Tensor stack(const char* kind, const Options& o, const Tensor& x, Step step) {
  Tensor y = o.batch_first ? swap_batch_and_time(x) : x;
  for (int k = 0; k < o.layers; ++k) {
    if (k > 0 && o.dropout > 0 && layer_trains(kind)) y = dropout(y, o.dropout);
    const VariableScope scope("layer" + std::to_string(k));
    y = step(static_cast<std::size_t>(k), y);
  }
  return o.batch_first ? swap_batch_and_time(y) : y;
}

// b = 0 but for the forget gate, the second of four.
Initializer forget_bias(double value) {
  return [value](const Shape& shape, DType dtype) {
    const std::int64_t units = shape[0] / 4;
    return concat({fill({units}, 0, dtype), fill({units}, value, dtype), fill({2 * units}, 0, dtype)}, 0);
  };
}

Tensor build(const LstmLayerOptions& o, const Tensor& x, const std::vector<LstmState>& initial,
             std::vector<LstmState>& last) {
  check_options("lstm", o, x, initial.size());
  const Initializer bias = o.bias_initializer ? o.bias_initializer : forget_bias(o.forget_bias);
  return stack("lstm", o, x, [&](std::size_t k, const Tensor& in) {
    const LayerVariables variables(o, in, 4);
    const LstmWeights weights{variables.w_x(), variables.w_h(), variables.bias("b", bias)};
    const LstmResult r = lstm(in, weights, initial.empty() ? LstmState{} : initial[k], {.lengths = o.lengths});
    last.push_back(r.last);
    return r.h;
  });
}

Tensor build(const GruLayerOptions& o, const Tensor& x, const Tensors& initial, Tensors& last) {
  check_options("gru", o, x, initial.size());
  const Initializer bias = o.bias_initializer ? o.bias_initializer : init::zeros();
  return stack("gru", o, x, [&](std::size_t k, const Tensor& in) {
    const LayerVariables variables(o, in, 3);
    const GruWeights weights{variables.w_x(), variables.w_h(), variables.bias("b", bias), variables.bias("b_h", bias)};
    const GruResult r = gru(in, weights, initial.empty() ? Tensor() : initial[k], {.lengths = o.lengths});
    last.push_back(r.last);
    return r.h;
  });
}

}  // namespace

LstmLayerResult lstm_with_state(const Tensor& x, std::string_view name, const LstmLayerOptions& options,
                                const std::vector<LstmState>& initial, const Location& where) {
  LstmLayerResult out;
  out.output = Layer(name, [&](const Tensor& t) { return build(options, t, initial, out.last); }, where)(x);
  return out;
}

GruLayerResult gru_with_state(const Tensor& x, std::string_view name, const GruLayerOptions& options,
                              const Tensors& initial, const Location& where) {
  GruLayerResult out;
  out.output = Layer(name, [&](const Tensor& t) { return build(options, t, initial, out.last); }, where)(x);
  return out;
}

Layer make_layer(std::string_view name, const LstmLayerOptions& options, const Location& where) {
  const auto body = [options](const Tensor& x) {
    std::vector<LstmState> last;
    return build(options, x, {}, last);
  };
  return Layer(name, body, where);
}

Layer make_layer(std::string_view name, const GruLayerOptions& options, const Location& where) {
  const auto body = [options](const Tensor& x) {
    Tensors last;
    return build(options, x, {}, last);
  };
  return Layer(name, body, where);
}

}  // namespace belfry
