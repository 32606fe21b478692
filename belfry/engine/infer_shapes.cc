#include "belfry/base/check.h"
#include "belfry/engine/known_values.h"
#include "belfry/engine/passes.h"

namespace belfry {
namespace {

// The values that a shape rule reads from an input: only from declared ones.
std::vector<KnownInts> sizes_of(const IrNode& node, KnownValues& known) {
  std::vector<KnownInts> out;
  if (node.def()->sizes.empty()) return out;
  out.resize(node.inputs.size());
  for (int input : node.def()->sizes) {
    const auto i = static_cast<std::size_t>(input);
    out[i] = known.ints(node.inputs[i]);
  }
  return out;
}

// What a shape rule is given; memory that serves one node after the other.
struct Given {
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
};

InferredOutputs inferred_outputs(const Ir& ir, const IrNode& node, KnownValues& known, Given& given) {
  auto& [shapes, dtypes] = given;
  shapes.clear();
  dtypes.clear();
  for (ValueId v : node.inputs) {
    shapes.push_back(ir.info(v).shape);
    dtypes.push_back(ir.info(v).dtype);
  }
  try {
    const std::vector<KnownInts> sizes = sizes_of(node, known);
    return infer_outputs(*node.def(), ShapeContext(shapes, dtypes, node.attributes, sizes));
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    fail("{} with the shapes fed in this run: {} {}", describe(*node.origin), error.what(), made_at(*node.origin));
  }
}

}  // namespace

void infer_shapes(Ir& ir, const std::map<ValueId, Array>& given) {
  KnownValues known(ir);
  for (const auto& [value, array] : given) known.give(value, array);
  Given inputs;
  for (NodeId id : topological(ir)) {
    const IrNode& node = ir.node(id);
    if (node.def() == nullptr || node.outputs.empty()) continue;
    if (node.def()->forwards) {  // a placeholder's default too, although something else could have been fed
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        ir.value(node.outputs[i]).info.shape = ir.info(node.inputs[i]).shape;
      continue;
    }
    const InferredOutputs inferred = inferred_outputs(ir, node, known, inputs);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      BELFRY_CHECK(inferred.shapes[i].is_concrete(), "{} expected a shape that is known once all inputs are, got {} {}",
                   describe(*node.origin), to_string(inferred.shapes[i]), made_at(*node.origin));
      ir.value(node.outputs[i]).info.shape = inferred.shapes[i];
    }
  }
}

}  // namespace belfry
