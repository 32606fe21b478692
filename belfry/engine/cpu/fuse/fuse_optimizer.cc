// An L2 penalty's gradient is the weights times a number. If it is added to the gradient that an update reads, the
// update includes it as weight decay: the sum need not be written to memory. Other readers of the sum (a hook that
// fetches it) make no difference, so that the update's bits stay the same.
#include <optional>

#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {
namespace {

// c, if the value is c * weights, made of products with constants.
std::optional<double> multiple_of(const Ir& ir, ValueId value, ValueId weights) {
  if (value == weights) return 1.0;
  if (!ir.is_op(value, kMul) || !unordered(ir, ir.producer(value))) return std::nullopt;
  const IdList& factors = ir.node(ir.producer(value)).inputs;
  for (int side : {0, 1}) {
    const auto number = uniform_constant(ir, factors[static_cast<std::size_t>(side)]);
    if (!number) continue;
    const auto rest = multiple_of(ir, factors[static_cast<std::size_t>(1 - side)], weights);
    if (rest) return *number * *rest;
  }
  return std::nullopt;
}

// The penalty uses the weights as of the start of the run, the update uses their current values.
bool assigned_elsewhere(const Ir& ir, ValueId weights, NodeId update) {
  for (NodeId reader : readers_of(ir, weights))
    for (int i : updated_inputs(ir.node(reader)))
      if (reader != update && ir.node(reader).inputs[static_cast<std::size_t>(i)] == weights) return true;
  return false;
}

}  // namespace

bool fuse_weight_decay(Ir& ir, NodeId id) {
  const IrNode& update = ir.node(id);
  const KernelDef* kernel = kernel_of(update);
  if (kernel == nullptr || !kernel->takes_weight_decay) return false;
  const ValueId weights = update.inputs[0], gradient = update.inputs.back();
  if (!ir.is_op(gradient, kAdd) || assigned_elsewhere(ir, weights, id)) return false;
  const NodeId add = ir.producer(gradient);
  if (!fusable(ir, id, add)) return false;
  const IdList terms = ir.node(add).inputs;
  for (std::size_t side : {0u, 1u}) {
    const ValueId penalty = terms[side], rest = terms[1 - side];
    const auto decay = multiple_of(ir, penalty, weights);
    if (!decay || penalty == weights || !(ir.info(rest).shape == ir.info(weights).shape)) continue;
    ir.change(id, [&](IrNode& node) {
      node.attributes.set("weight_decay", node.attributes.get<double>("weight_decay") + *decay);
      node.inputs.back() = rest;
    });
    if (readers_of(ir, gradient).empty()) absorb(ir, id, add);
    return true;
  }
  return false;
}

}  // namespace belfry
