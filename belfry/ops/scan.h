// A function of a state and of one step of sequences, over all their steps: what a recurrent network is. In one op, so
// the number of steps may differ from run to run.
//
//   // Running sums of x [time, batch]:
//   ScanResult r = scan({zeros_of_batch}, {x}, [](const Tensors& state, const Tensors& step) {
//     const Tensor sum = state[0] + step[0];
//     return ScanStep{.state = {sum}, .outputs = {sum}};
//   });
//   r.last[0];     // [batch], after the last step
//   r.outputs[0];  // [time, batch]
//
// Differentiable, any number of times. For that it keeps the state before each step; the rest of a step is computed
// again for its gradient, from the last step to the first.
#pragma once

#include <functional>
#include <string_view>

#include "belfry/graph/tensor.h"
#include "belfry/ops/loop_tensors.h"

#pragma GCC visibility push(default)
namespace belfry {

struct ScanStep {
  Tensors state{};    // for the next step, in the types and shapes that the scan starts with
  Tensors outputs{};  // of this step
};

struct ScanResult {
  Tensors last{};     // the state after the last step
  Tensors outputs{};  // of all steps, [time, ...]
};

struct ScanOptions {
  bool reverse = false;  // from the last step to the first; outputs stay in the places of their steps
};

// sequences [time, ...], one or more, of one length. `body` is called once, to build a step; it may use tensors of the
// graph around it, and may not assign variables.
ScanResult scan(const LoopTensors& start, const LoopTensors& sequences,
                const std::function<ScanStep(const Tensors& state, const Tensors& step)>& body,
                const ScanOptions& options = {}, std::string_view name = "scan",
                const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
