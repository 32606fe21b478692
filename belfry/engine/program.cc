#include "belfry/engine/program.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

// A part is compiled again if a later one changed a variable's layout or a crossing's memory. Both settle soon: layouts
// change once, copies and sizes only grow.
constexpr int kMostRounds = 16;

bool has_given_info(const IrNode& node) { return node.op == "Feed" || (node.op == "Receive" && !node.outputs.empty()); }

bool same(const TensorInfo& a, const TensorInfo& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.layout == b.layout;
}

}  // namespace

Program::Program(const Graph& graph, const Signature& signature, const CompileTarget& target, int kept)
    : target_(target),
      partition_(partition(prune(graph, signature, static_cast<int>(target.devices.size())), target.devices)),
      slots_(std::make_shared<RunSlots>()),
      versions_(partition_.parts.size()),
      kept_(std::max(1, kept)) {
  if (partition_.parts.size() > 1) target_.snapshots = nullptr;
  slots_->feeds.assign(signature.feeds.size(), nullptr);
  slots_->results.assign(signature.fetches.size(), nullptr);
}

std::unique_ptr<Plan> Program::plan(const std::vector<TensorSpec>& fed) {
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<std::shared_ptr<const PartPlan>> parts = collect(fed);
    const std::uint64_t now = generation_of(target_);
    if (std::ranges::all_of(parts, [&](const auto& part) { return part->generation == now; }))
      return std::make_unique<Plan>(std::move(parts), partition_, slots_, target_);
  }
  BELFRY_BUG_IF(true, "the layouts of a plan's variables did not settle in {} rounds", kMostRounds);
}

std::vector<std::shared_ptr<const PartPlan>> Program::collect(const std::vector<TensorSpec>& fed) {
  std::vector<std::shared_ptr<const PartPlan>> parts;
  std::vector<TensorInfo> carried(partition_.crossings.size());
  std::vector<std::vector<HeldValue>> held(target_.devices.size());  // what parts of a device leave to later ones
  for (std::size_t p = 0; p < partition_.parts.size(); ++p) {
    std::vector<TensorInfo> inputs;
    for (const IrNode& node : partition_.parts[p].ir.nodes) {
      if (!has_given_info(node)) continue;
      if (node.op == "Receive") {
        inputs.push_back(carried[static_cast<std::size_t>(node.attributes.integer("crossing"))]);
      } else {
        const TensorSpec& spec = fed[static_cast<std::size_t>(node.attributes.integer("index"))];
        inputs.push_back({.dtype = spec.dtype, .shape = spec.shape});
      }
    }
    std::vector<HeldValue>& in_arena = held[static_cast<std::size_t>(partition_.parts[p].device)];
    for (HeldValue& value : in_arena)
      value.ends = partition_.crossings[static_cast<std::size_t>(value.crossing)].last_reader == static_cast<int>(p);
    parts.push_back(version(p, std::move(inputs), in_arena));
    std::erase_if(in_arena, [](const HeldValue& value) { return value.ends; });
    in_arena.insert(in_arena.end(), parts.back()->left.begin(), parts.back()->left.end());
    for (const auto& [crossing, info] : parts.back()->sent) carried[static_cast<std::size_t>(crossing)] = info;
  }
  return parts;
}

std::shared_ptr<const PartPlan> Program::version(std::size_t part, std::vector<TensorInfo> inputs,
                                                 const std::vector<HeldValue>& held) {
  if (versions_.size() == 1) return compile(part, inputs, held);  // the plan is the part: who keeps plans keeps it
  std::list<Version>& versions = versions_[part];
  std::erase_if(versions, [&](const Version& v) { return v.plan->generation != generation_of(target_); });
  auto at = std::ranges::find_if(
      versions, [&](const Version& v) { return v.held == held && std::ranges::equal(v.inputs, inputs, same); });
  if (at == versions.end()) {
    std::shared_ptr<const PartPlan> plan = compile(part, inputs, held);
    versions.push_front({std::move(inputs), held, std::move(plan)});
    if (static_cast<int>(versions.size()) > kept_) versions.pop_back();
  } else {
    versions.splice(versions.begin(), versions, at);
  }
  return versions.front().plan;
}

void Program::collect_kept(std::set<const PartPlan*>& into) const {
  for (const std::list<Version>& versions : versions_)
    for (const Version& version : versions) into.insert(version.plan.get());
}

std::shared_ptr<const PartPlan> Program::compile(std::size_t number, const std::vector<TensorInfo>& inputs,
                                                 const std::vector<HeldValue>& held) {
  ++compiled_;
  Part part = partition_.parts[number];
  std::size_t next = 0;
  for (IrNode& node : part.ir.nodes)
    if (has_given_info(node)) part.ir.value(node.outputs[0]).info = inputs[next++];
  return compile_part(std::move(part), partition_.crossings, *slots_, target_, held);
}

}  // namespace belfry
