// Branches and loops inside a graph, where unrolling is not suitable. The functions build ops and may use tensors of
// the graph around them; they may not assign variables.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "belfry/graph/tensor.h"
#include "belfry/ops/loop_tensors.h"

#pragma GCC visibility push(default)
namespace belfry {

// Runs one of two functions, chosen by a bool scalar in each run. Both give tensors of the same types and shapes.
// Differentiable, any number of times.
//
//   Tensor y = cond(reduce_sum(x) > 0.f, [&] { return Tensors{x * 2.f}; }, [&] { return Tensors{-x}; })[0];
Tensors cond(const Operand& predicate, const std::function<Tensors()>& then, const std::function<Tensors()>& otherwise,
             std::string_view name = "cond");

struct WhileOptions {
  std::int64_t most = -1;  // stop after this many passes, whatever the condition says; -1: no limit
};
// Repeats `body` while `condition` gives true (a bool scalar). Both are functions of the loop's tensors; body gives
// their next values, of the same types and shapes. Differentiable once: the backward pass repeats the forward one,
// keeping the loop's tensors of every pass.
//
//   Tensors end = while_loop({constant(0), x}, [](const Tensors& v) { return v[0] < 10; },
//                            [&](const Tensors& v) { return Tensors{v[0] + 1, tanh(matmul(v[1], w))}; });
Tensors while_loop(const LoopTensors& start, const std::function<Tensor(const Tensors&)>& condition,
                   const std::function<Tensors(const Tensors&)>& body, const WhileOptions& options = {},
                   std::string_view name = "while", const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
