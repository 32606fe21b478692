// A rectifier whose slope below 0 is learned.
#pragma once

#include <string_view>

#include "belfry/graph/variable.h"
#include "belfry/nn/layer.h"
#include "belfry/ops/window.h"

#pragma GCC visibility push(default)
namespace belfry {

// Variable: alpha, [channels], or [] if all channels share one slope.
struct PreluOptions {
  bool shared = false;
  Initializer initializer{};  // 0.25
  Regularizer regularizer{};
  DataFormat data_format = DataFormat::nhwc;
};

Layer make_layer(std::string_view name, const PreluOptions& options, const Location& where);

// x where it is above 0, otherwise alpha * x.
inline LayerMaker<PreluOptions> prelu(const PreluOptions& options) { return LayerMaker(options); }
inline Layer prelu(std::string_view name, const PreluOptions& options = {},
                   const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor prelu(const Tensor& x, std::string_view name, const PreluOptions& options = {},
                    const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

}  // namespace belfry
#pragma GCC visibility pop
