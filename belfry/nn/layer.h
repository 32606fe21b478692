// Layers: named function objects that turn a tensor into a tensor and are chained by `|`.
//
//   const auto conv = conv2d({.filters = 32, .kernel = 3, .activation = relu});
//   Tensor y = x | conv("conv0") | max_pool("pool0", 2) | tanh | [](const Tensor& t) { return t * 2.f; };
//   Tensor z = conv(y, "conv1");                              // the same without a pipe
//
// Layer "x" opens variable scope "x": its variables are "x/W", "x/b", ..., its output is "x/output". Its ops are
// attributed to the line that named the layer. A layer that fails leaves nothing behind: it can be made again under the
// same name.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "belfry/graph/tensor.h"
#include "belfry/ops/pointwise.h"

#pragma GCC visibility push(default)
namespace belfry {

template <class F>
concept TensorFunction = std::is_invocable_r_v<Tensor, const F&, const Tensor&>;

class Layer {
 public:
  using Body = std::function<Tensor(const Tensor& x)>;

  // A layer that you write: `body` runs inside the layer's scope.
  Layer(std::string_view name, Body body, const Location& where = Location::current());

  Tensor operator()(const Tensor& x) const;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  Body body_;
  Location where_;
};

// Layers from one set of options: each call names one.
template <class Options>
class LayerMaker {
 public:
  explicit LayerMaker(Options options) : options_(std::move(options)) {}
  Layer operator()(std::string_view name, const Location& where = Location::current()) const {
    return make_layer(name, options_, where);
  }
  Tensor operator()(const Tensor& x, std::string_view name, const Location& where = Location::current()) const {
    return make_layer(name, options_, where)(x);
  }
  const Options& options() const { return options_; }

 private:
  Options options_;
};

// What `.activation = ...` accepts: relu and the like, an op such as tanh, or any function from Tensor to Tensor (which
// may contain layers). Empty: none.
class LayerActivation {
 public:
  using Op = Tensor (*)(const Operand& x, std::string_view name);

  LayerActivation() = default;
  // NOLINTBEGIN(google-explicit-constructor): all of these are activations
  LayerActivation(const Activation& activation) : LayerActivation(activation.apply) {}
  LayerActivation(Op op) {
    if (op != nullptr) apply_ = op;
  }
  template <TensorFunction F>
    requires(!std::same_as<F, LayerActivation> && !std::same_as<F, Activation>)
  LayerActivation(F function)
      : apply_([function = std::move(function)](const Tensor& x, [[maybe_unused]] std::string_view name) -> Tensor {
          if constexpr (std::is_invocable_r_v<Tensor, const F&, const Tensor&, std::string_view>)
            return function(x, name);
          else
            return function(x);
        }) {}
  // NOLINTEND(google-explicit-constructor)

  explicit operator bool() const { return static_cast<bool>(apply_); }
  // The name is used if the function takes one.
  Tensor operator()(const Tensor& x, std::string_view name) const { return apply_(x, name); }

 private:
  std::function<Tensor(const Tensor& x, std::string_view name)> apply_;
};

// Several layers and functions, one after the other: block = conv("a") | batch_norm("b") | relu.
class Sequence {
 public:
  explicit Sequence(std::vector<Layer::Body> steps) : steps_(std::move(steps)) {}
  Tensor operator()(Tensor x) const {
    for (const Layer::Body& step : steps_) x = step(x);
    return x;
  }
  const std::vector<Layer::Body>& steps() const { return steps_; }

 private:
  std::vector<Layer::Body> steps_;
};

template <TensorFunction F>
Tensor operator|(const Operand& x, const F& function) {
  const LocationScope location(x.where());
  return function(x.tensor());
}
// A layer knows its line, and an op takes the operand's.
inline Tensor operator|(const Operand& x, const Layer& layer) { return layer(x.tensor()); }
inline Tensor operator|(const Operand& x, const Sequence& sequence) { return sequence(x.tensor()); }
inline Tensor operator|(const Operand& x, LayerActivation::Op op) { return op(x, ""); }

template <TensorFunction F>
Sequence operator|(Layer first, F second) {
  return Sequence({std::move(first), std::move(second)});
}
template <TensorFunction F>
Sequence operator|(const Sequence& first, F second) {
  std::vector<Layer::Body> steps = first.steps();
  steps.emplace_back(std::move(second));
  return Sequence(std::move(steps));
}

}  // namespace belfry
#pragma GCC visibility pop
