#include "belfry/engine/known_values.h"

#include "belfry/base/check.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/evaluator.h"

namespace belfry {
bool FromShapes::operator()(ValueId value) {
  if (const auto found = found_.find(value); found != found_.end()) return found->second;
  const NodeId producer = ir_.producer(value);
  bool follows = false;
  if (producer != kNone) {
    const IrNode& node = ir_.node(producer);
    follows = node.op == kConstant || evaluator().can_evaluate(node);
    for (int i = 0; follows && i < static_cast<int>(node.inputs.size()); ++i)
      follows = node.def()->uses_only_shape(i) || (*this)(node.inputs[at(i)]);
  }
  return found_[value] = follows;
}

KnownInts KnownValues::ints(ValueId value) {
  if (!values_.contains(value) && !from_shapes_(value)) return {};
  const Array& known = compute(value);
  KnownInts out;
  for (std::int64_t i = 0; i < known.elements(); ++i) out.emplace_back(static_cast<std::int64_t>(known.item(i)));
  return out;
}

const Array& KnownValues::compute(ValueId value) {
  if (const auto found = values_.find(value); found != values_.end()) return found->second;
  const IrNode& node = ir_.node(ir_.producer(value));
  if (node.op == kConstant) return values_[value] = node.attributes.get<Array>("value");
  const OpDef& def = *node.def();
  std::vector<Array> inputs;
  std::vector<TensorInfo> outputs;
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    const ValueId input = node.inputs[at(i)];
    inputs.push_back(def.uses_only_shape(i) ? Array(ir_.info(input).dtype, ir_.info(input).shape) : compute(input));
  }
  for (ValueId v : node.outputs) outputs.push_back(ir_.info(v));
  std::vector<Array> results = evaluator().evaluate(node, inputs, outputs);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) values_[node.outputs[i]] = std::move(results[i]);
  return values_.at(value);
}

}  // namespace belfry
