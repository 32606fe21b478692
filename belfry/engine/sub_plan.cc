#include "belfry/engine/sub_plan.h"

#include <algorithm>

#include "belfry/base/check.h"

namespace belfry {

SubPlan::SubPlan(const SubGraph& function, std::span<const TensorInfo> inputs, int threads) {
  Signature signature{.fetches = function.outputs, .targets = {}, .feeds = {}, .fed = {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    signature.feeds.push_back(function.inputs[i]);
    signature.fed.push_back({"", inputs[i].dtype, inputs[i].shape});
  }
  arenas_.push_back(std::make_unique<Arena>());
  slots_.feeds.assign(inputs.size(), nullptr);
  slots_.results.assign(function.outputs.size(), nullptr);
  const CompileTarget target{.store = store_, .arenas = arenas_, .crossings = crossings_, .devices = {{threads}}};
  Partition whole = partition(prune(*function.graph, signature, 1), target.devices);
  plan_ = compile_part(std::move(whole.parts[0]), whole.crossings, slots_, target);
  for (const auto& [index, info] : plan_->fetched) outputs_.push_back(info);
}

void SubPlan::run(const Step& step, std::span<const void* const> inputs, std::span<void* const> outputs) {
  std::ranges::copy(inputs, slots_.feeds.begin());
  std::ranges::copy(outputs, slots_.results.begin());
  for (const Instruction& instruction : plan_->instructions) instruction.kernel->run(step);
}

}  // namespace belfry
