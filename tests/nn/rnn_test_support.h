// Recurrent cells of every kind, for tests that hold for all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/nn/nn_test_support.h"

namespace belfry {

inline constexpr std::int64_t kFeatures = 3;

struct CellKind {
  std::string name;
  std::function<RnnCell()> make;
};

inline RnnCell cell_of_functions() {
  return RnnCell("own", {.state = {2, 3}, .output = 3}, [](const Tensor& x, const Tensors& state) {
    const Tensor a = tanh(x | fully_connected("in", {.units = 2})) * state[0];
    const Tensor b = sigmoid(concat({x, a}, 1) | fully_connected("mix", {.units = 3})) + state[1] * 0.5f;
    return RnnStep{.output = b - x, .state = {a + 0.1f, b}};
  });
}

inline RnnCell stack_of_two() {
  return cell::stacked("rnn", {cell::lstm("layer0", {.units = 2}), cell::gru("layer1", {.units = 3})});
}

inline std::vector<CellKind> cells_without_dropout() {
  return {
      {"lstm", [] { return cell::lstm("c", {.units = 2}); }},
      {"lstm without bias", [] { return cell::lstm("c", {.units = 2, .use_bias = false}); }},
      {"gru", [] { return cell::gru("c", {.units = 2}); }},
      {"plain", [] { return cell::plain("c", {.units = 2}); }},
      {"plain sigmoid",
       [] {
         return cell::plain(
             "c", {.units = 2, .activation = LayerActivation(LayerActivation::Op(sigmoid)), .use_bias = false});
       }},
      {"stacked", stack_of_two},
      {"residual", [] { return cell::residual(cell::gru("c", {.units = kFeatures})); }},
      {"own", cell_of_functions},
      {"stack around own",
       [] { return cell::stacked("rnn", {cell::residual(cell_of_functions()), cell::plain("top", {.units = 2})}); }},
  };
}

inline std::vector<CellKind> cells_with_dropout() {
  const auto around = [](const DropoutCellOptions& options) {
    return [options] { return cell::dropout(stack_of_two(), options); };
  };
  return {
      {"dropout of inputs", around({.input = 0.4})},
      {"dropout of outputs", around({.output = 0.4})},
      {"dropout of states", around({.state = 0.4})},
      {"variational dropout", around({.input = 0.3, .output = 0.3, .variational = true})},
      {"variational dropout of states", around({.input = 0.3, .output = 0.3, .state = 0.3, .variational = true})},
      {"dropout between layers",
       [] {
         return cell::stacked(
             "rnn",
             {cell::lstm("layer0", {.units = 3}),
              cell::residual(cell::dropout(cell::lstm("layer1", {.units = 3}), {.input = 0.4, .variational = true}))});
       }},
  };
}

// How a cell is taken over time; x [4, ?, 3].
struct CellForm {
  const char* name;
  std::function<RnnResult(const RnnCell&, const Tensor& x, const RnnOptions&)> build;
};
inline std::vector<CellForm> forms() {
  return {{"rnn", [](const RnnCell& c, const Tensor& x, const RnnOptions& o) { return rnn(c, x, o); }},
          {"unroll", [](const RnnCell& c, const Tensor& x, const RnnOptions& o) { return unroll(c, x, o); }},
          {"rnn of any length", [](const RnnCell& c, const Tensor& x, const RnnOptions& o) {
             return rnn(c, placeholder_with_default(x, {kAny, kAny, x.shape()[2]}), o);
           }}};
}

}  // namespace belfry
