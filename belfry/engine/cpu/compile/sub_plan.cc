#include "belfry/engine/cpu/compile/sub_plan.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/engine/engine_kinds.h"

namespace belfry {

namespace {

Precision precision_of(const KernelContext& c) {
  const std::string how = c.attributes->get_or<std::string>(kPrecision, "");
  if (how == kBf16) return Precision::bf16;
  return how == kBf16Emulated ? Precision::bf16_emulated : Precision::f32;
}

// The node that reads or returns the value with that number; nullptr if there is none.
const IrNode* find_node(const Ir& ir, OpKind op, int index) {
  const auto at = std::ranges::find_if(ir.nodes(), [&](const IrNode& node) {
    return !node.dead && node.op == op && node.attributes.integer("index") == index;
  });
  return at == ir.nodes().end() ? nullptr : &*at;
}

// The first op whose shape depends on data is in the second part.
void check_one_part(const Partition& function, const Node& within) {
  if (function.parts.size() == 1) return;
  const auto& nodes = function.parts[1].ir.nodes();
  const auto late = std::ranges::find_if(
      nodes, [](const IrNode& node) { return node.origin != nullptr && !node.origin->def->sizes.empty(); });
  const Node& op = late == nodes.end() ? within : *late->origin;
  fail(
      "{} expected shapes that depend only on shapes inside cond(), while_loop() or scan(), got one that depends on "
      "data: {} {}. Compute it outside, or use fixed shapes and masks.",
      describe(within), describe(op), made_at(op));
}

}  // namespace

SubPlan::SubPlan(const SubGraph& function, std::span<const TensorInfo> inputs, const KernelContext& within,
                 std::size_t carried) {
  Signature signature{.fetches = function.outputs, .targets = {}, .feeds = {}, .fed = {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    signature.feeds.push_back(function.inputs[i]);
    signature.fed.push_back({"", inputs[i].dtype, inputs[i].shape});
  }
  arenas_.push_back(std::make_unique<Arena>(Arena::For::one_plan));
  slots_.feeds.assign(inputs.size(), nullptr);
  slots_.results.assign(function.outputs.size(), nullptr);
  const CompileTarget target{.store = store_,
                             .arenas = arenas_,
                             .crossings = crossings_,
                             .devices = {{.threads = within.threads}},
                             .precision = precision_of(within),
                             .carried_feeds = static_cast<int>(carried)};
  Partition whole = partition(prune(signature, target.devices), target.devices);
  check_one_part(whole, *within.origin);
  prepare_part(whole.parts[0], whole.crossings);
  plan_ = compile_part(std::move(whole.parts[0]), whole.crossings, slots_, target);
  for (const auto& [index, info] : plan_->fetched) outputs_.push_back(info);
  for (std::size_t i = 0; i < carried; ++i) in_place_.push_back(find_in_place(static_cast<int>(i)));
}

bool SubPlan::reads(std::size_t input) const { return find_node(plan_->ir, kFeed, static_cast<int>(input)) != nullptr; }

const void* SubPlan::find_in_place(int carried) const {
  const IrNode *in = find_node(plan_->ir, kFeed, carried), *out = find_node(plan_->ir, kFetch, carried);
  if (in == nullptr || out == nullptr) return nullptr;
  const MemoryPlan& memory = plan_->memory_plan;
  const ValueId value = memory.holder(in->outputs[0]);
  const std::size_t offset = memory.offsets[static_cast<std::size_t>(value)];
  if (value != memory.holder(out->inputs[0]) || offset == MemoryPlan::kNowhere) return nullptr;
  return arenas_[0]->require(memory.arena_bytes) + offset;
}

std::size_t SubPlan::bytes() const { return plan_->memory_plan.arena_bytes + plan_->own_bytes(); }

void SubPlan::run(const Step& step, std::span<const void* const> inputs, std::span<void* const> outputs) {
  std::ranges::copy(inputs, slots_.feeds.begin());
  std::ranges::copy(outputs, slots_.results.begin());
  for (const Instruction& instruction : plan_->instructions) instruction.kernel->run(step);
}

}  // namespace belfry
