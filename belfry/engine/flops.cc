#include "belfry/engine/flops.h"

#include <algorithm>

namespace belfry {
namespace {

double elements(const Ir& ir, ValueId v) { return static_cast<double>(ir.info(v).elements()); }

}  // namespace

double flops_of(const Ir& ir, const IrNode& node) {
  const std::string& op = node.op;
  if (op.find("Conv") != std::string::npos && node.inputs.size() >= 2) {
    // Every output pixel of the forward pass meets every weight once: 2 * (pixels of dy) * (elements of the filter).
    const bool filter = op.find("Filter") != std::string::npos, data = op.find("Input") != std::string::npos,
               transposed = op.find("Transpose") != std::string::npos;
    const ValueId weights = filter ? node.outputs[0] : node.inputs[1], result = filter || data ? node.inputs[2]
                                                                                : transposed   ? node.inputs[0]
                                                                                               : node.outputs[0];
    const Shape& w = ir.info(weights).shape;
    return w.rank() == 4 ? 2.0 * elements(ir, result) * elements(ir, weights) / static_cast<double>(w[3]) : 0;
  }
  if (op.find("MatMul") != std::string::npos) {
    const Shape& a = ir.info(node.inputs[0]).shape;
    const double inner = static_cast<double>(a[node.attributes.flag("transpose_a") ? -2 : -1]);
    return 2.0 * inner * elements(ir, node.outputs[0]);
  }
  if (op == "Reorder" || op == "Feed" || op == "Fetch") return 0;
  double most = 0;
  for (ValueId v : node.outputs) most = std::max(most, elements(ir, v));
  return most;
}

}  // namespace belfry
