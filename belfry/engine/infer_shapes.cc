#include "belfry/base/check.h"
#include "belfry/engine/passes.h"

namespace belfry {

void infer_shapes(Ir& ir) {
  for (NodeId id : topological(ir)) {
    IrNode& node = ir.node(id);
    const OpDef* def = node.def();
    if (def == nullptr || node.outputs.empty()) continue;
    std::vector<Shape> shapes;
    std::vector<DType> dtypes;
    for (ValueId v : node.inputs) {
      shapes.push_back(ir.info(v).shape);
      dtypes.push_back(ir.info(v).dtype);
    }
    InferredOutputs inferred;
    try {
      inferred = infer_outputs(*def, ShapeContext(shapes, dtypes, node.attributes));
    } catch (const InternalError&) {
      throw;
    } catch (const Error& error) {
      fail("{} with the shapes fed in this run: {} {}", describe(*node.origin), error.what(), made_at(*node.origin));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      BELFRY_CHECK(inferred.shapes[i].is_concrete(), "{} expected a shape that is known once all inputs are, got {} {}",
                   describe(*node.origin), to_string(inferred.shapes[i]), made_at(*node.origin));
      ir.value(node.outputs[i]).info.shape = inferred.shapes[i];
    }
  }
}

}  // namespace belfry
