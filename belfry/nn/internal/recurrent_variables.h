// The variables of one recurrent layer or cell, in the current scope: made there or, under reuse, found.
#pragma once

#include <cstdint>

#include "belfry/graph/variable.h"
#include "belfry/nn/initializers.h"
#include "belfry/ops/gru.h"
#include "belfry/ops/lstm.h"

namespace belfry {

// Options are those of a layer or a cell: .units, .use_bias, and initialisers and regularisers with the same names.
template <class Options>
class RecurrentVariables {
 public:
  // For x [..., features]; `gates` times the units columns.
  RecurrentVariables(const Options& options, const Tensor& x, std::int64_t gates)
      : o_(options), features_(x.shape()[x.rank() - 1]), width_(gates * options.units), dtype_(x.dtype()) {}

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

// b is 0 except for the forget gate, the second of four.
Initializer forget_bias(double value);

template <class Options>
LstmWeights lstm_weights(const Options& o, const Tensor& x) {
  const RecurrentVariables variables(o, x, 4);
  const Initializer bias = o.bias_initializer ? o.bias_initializer : forget_bias(o.forget_bias);
  return {variables.w_x(), variables.w_h(), variables.bias("b", bias)};
}
template <class Options>
GruWeights gru_weights(const Options& o, const Tensor& x) {
  const RecurrentVariables variables(o, x, 3);
  const Initializer bias = o.bias_initializer ? o.bias_initializer : init::zeros();
  return {variables.w_x(), variables.w_h(), variables.bias("b", bias), variables.bias("b_h", bias)};
}

}  // namespace belfry
