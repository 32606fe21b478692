#include "belfry/base/check.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/passes.h"

namespace belfry {

std::vector<Array> evaluate(const IrNode& node, const std::vector<Array>& inputs,
                            const std::vector<TensorInfo>& outputs) {
  const KernelDef* def = find_kernel(node.op, DeviceKind::cpu);
  BELFRY_BUG_IF(def == nullptr, "op {} has no kernel", node.op.name());
  const TeamScope one(1);
  std::vector<TensorInfo> infos;
  Buffers buffers;
  for (const Array& a : inputs) {
    infos.push_back({.dtype = a.dtype(), .shape = a.shape()});
    buffers.inputs.push_back(a.raw());
  }
  std::vector<Array> results;
  for (const TensorInfo& info : outputs) results.emplace_back(info.dtype, info.shape);
  for (Array& a : results) buffers.outputs.push_back(a.raw());
  const KernelPtr kernel = def->make(
      {.inputs = infos, .outputs = outputs, .attributes = &node.attributes, .origin = node.origin, .threads = 1});
  const Array scratch(DType::u8, {static_cast<std::int64_t>(kernel->scratch_bytes())});
  buffers.scratch = const_cast<void*>(scratch.raw());
  kernel->bind(buffers);
  kernel->run({});
  return results;
}

}  // namespace belfry
