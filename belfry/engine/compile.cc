#include "belfry/base/parallel.h"
#include "belfry/engine/emit.h"
#include "belfry/engine/plan.h"
#include "belfry/graph/graph.h"

namespace belfry {

std::unique_ptr<Plan> compile(const Graph& graph, const Signature& signature, const CompileTarget& target) {
  Ir ir = prune(graph, signature, static_cast<int>(target.devices.size()));
  infer_shapes(ir);
  simplify(ir);
  fuse(ir);
  order_variables(ir);
  if (target.algorithms != nullptr) choose_algorithms(ir, *target.algorithms, target.devices);
  assign_layouts(ir, target.store, target.devices);
  return emit(std::move(ir), signature, target);
}

}  // namespace belfry
