// Rounds the factors of products to bf16; the products are summed in f32, and everything else stays in f32, including
// variables and their updates. A kernel with fast code for bf16 gets an attribute and rounds what it reads; for all
// others a separate op rounds the factors, once for all readers, and they stay f32 in memory. Runs before fuse(), which
// keeps the attribute on the ops that it makes from a product.
#include <map>

#include "belfry/engine/cpu/compile/passes.h"

namespace belfry {
namespace {

const OpKind kRoundToBf16 = op_kind("RoundToBf16");

class PrecisionPass {
 public:
  PrecisionPass(Ir& ir, Precision precision, const std::vector<DeviceInfo>& devices)
      : ir_(ir), precision_(precision), devices_(devices) {}

  void visit(NodeId id) {
    const KernelDef* kernel = kernel_of(ir_.node(id));
    if (kernel == nullptr) return;
    if (kernel->runs_plans) set(id, precision_ == Precision::bf16 ? kBf16 : kBf16Emulated);
    if (kernel->factors.empty() || !applies(id)) return;
    if (precision_ == Precision::bf16 && computes_bf16(*kernel, ir_.node(id))) return set(id, kBf16);
    set(id, kBf16Emulated);
    for (int i : kernel->factors) {
      const ValueId made = rounded(ir_.node(id).inputs[static_cast<std::size_t>(i)], id);
      ir_.change(id, [&](IrNode& node) { node.inputs[static_cast<std::size_t>(i)] = made; });
    }
  }

 private:
  void set(NodeId id, const char* how) {
    ir_.change(id, [&](IrNode& node) { node.attributes.set(kPrecision, std::string(how)); });
  }

  bool applies(NodeId id) const {
    const IrNode& node = ir_.node(id);
    if (ir_.info(node.outputs[0]).dtype != DType::f32) return false;
    for (ValueId v : node.inputs)
      if (ir_.info(v).elements() == 0) return false;
    return ir_.info(node.outputs[0]).elements() > 0;
  }

  bool computes_bf16(const KernelDef& kernel, const IrNode& node) const {
    if (!kernel.computes_bf16) return false;
    std::vector<TensorInfo> inputs, outputs;
    for (ValueId v : node.inputs) inputs.push_back(ir_.info(v));
    for (ValueId v : node.outputs) outputs.push_back(ir_.info(v));
    return kernel.computes_bf16({.inputs = inputs,
                                 .outputs = outputs,
                                 .attributes = &node.attributes,
                                 .origin = node.origin,
                                 .threads = devices_[static_cast<std::size_t>(node.device)].threads});
  }

  ValueId rounded(ValueId v, NodeId reader) {
    const auto [at, added] = rounded_.try_emplace(v, kNone);
    if (added) {
      const TensorInfo info = ir_.info(v);
      IrNode node{.op = kRoundToBf16,
                  .origin = ir_.node(reader).origin,
                  .inputs = {v},
                  .device = ir_.node(reader).device,
                  .rank = reader};
      at->second = ir_.node(ir_.add_node(std::move(node), {info})).outputs[0];
    }
    return at->second;
  }

  Ir& ir_;
  Precision precision_;
  const std::vector<DeviceInfo>& devices_;
  std::map<ValueId, ValueId> rounded_;
};

}  // namespace

void lower_precision(Ir& ir, Precision precision, const std::vector<DeviceInfo>& devices) {
  if (precision == Precision::f32) return;
  PrecisionPass pass(ir, precision, devices);
  for (NodeId id : topological(ir)) pass.visit(id);
}

}  // namespace belfry
