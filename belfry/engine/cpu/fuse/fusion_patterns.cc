#include <algorithm>
#include <iterator>

#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {

const OpKind kFusedMatMul = op_kind("FusedMatMul");
const OpKind kAdd = op_kind("Add"), kLeakyRelu = op_kind("LeakyRelu"), kMatMul = op_kind("MatMul"),
             kMul = op_kind("Mul"), kRelu = op_kind("Relu"), kReluGrad = op_kind("ReluGrad"),
             kSumToLike = op_kind("SumToLike");

const std::vector<FusionPattern>& fusion_patterns() {
  static const std::vector<FusionPattern> table{
      {"conv + bias + relu", fuse_conv_bias_relu, {op_kind("Conv2D")}},
      {"transposed conv + bias + relu", fuse_conv_transpose_bias_relu, {op_kind("Conv2DTranspose")}},
      {"matmul + bias + relu", fuse_matmul_bias_relu, {op_kind("MatMul")}},
      {"matmul + bias + gelu", fuse_matmul_gelu, {op_kind("Gelu")}},
      {"gradient of gelu in a matmul", fuse_gelu_gradient, {op_kind("Mul")}},
      {"layer norm + residual", fuse_layer_norm_sum, {op_kind("LayerNorm")}},
      {"gradient of layer norm + residual", fuse_layer_norm_gradient_sum, {op_kind("LayerNormGrad")}},
      {"batch norm + add + relu", fuse_batch_norm_relu, {op_kind("BatchNorm")}},
      {"gradient of batch norm + add + relu", fuse_batch_norm_relu_gradient, {op_kind("BatchNormGrad")}},
      {"max pool with indices", fuse_max_pool_index, {op_kind("MaxPool")}},
      {"gradient of relu + max pool", fuse_max_pool_relu_gradient, {op_kind("ReluGrad")}},
      {"gradient of conv filter + bias", fuse_conv_bias_gradient, {op_kind("Conv2DBackpropFilter")}},
      {"gradient of relu + bias", fuse_relu_bias_gradient, {op_kind("ReluGrad")}},
      {"gradient of bias alone", fuse_bias_gradient_alone, {op_kind("SumToLike")}},
      {"batch norm alone", fuse_batch_norm_alone, {op_kind("BatchNorm"), op_kind("BatchNormGrad")}},
      {"sum of gradients into batch norm's", fuse_batch_norm_gradient_sum, {op_kind("FusedBatchNormGrad")}},
      {"attention on one projection", fuse_packed_attention, {op_kind("Attention"), op_kind("AttentionGrad")}},
      {"cross-entropy + gradient", fuse_cross_entropy},
      {"update + weight decay", fuse_weight_decay},
      {"update + scale of the gradient", fuse_gradient_scale},
      {"pointwise chains", fuse_pointwise},
  };
  return table;
}

bool unordered(const Ir& ir, NodeId id) { return ir.node(id).after.empty() && ir.followers(id).empty(); }

bool fusable(const Ir& ir, NodeId into, NodeId other) {
  return ir.node(into).device == ir.node(other).device && unordered(ir, other);
}

std::vector<NodeId> readers_of(const Ir& ir, ValueId value) {
  std::vector<NodeId> out;
  std::ranges::unique_copy(ir.readers(value), std::back_inserter(out));
  return out;
}

NodeId only_reader(const Ir& ir, ValueId value) {
  const std::vector<NodeId> readers = readers_of(ir, value);
  return readers.size() == 1 ? readers[0] : kNone;
}

bool is_bias(const Ir& ir, ValueId bias, ValueId of) {
  const TensorInfo &b = ir.info(bias), &x = ir.info(of);
  return b.shape.rank() == 1 && x.shape.rank() > 1 && b.shape[0] == x.shape[-1] && b.dtype == DType::f32 &&
         x.dtype == DType::f32;
}

void absorb(Ir& ir, NodeId into, NodeId absorbed) {
  const IrNode& gone = ir.node(absorbed);
  ir.change(into, [&](IrNode& node) {
    std::vector<std::string>& names = node.fused;
    if (names.empty()) names.push_back(node.origin->name);
    if (gone.fused.empty())
      names.push_back(gone.origin->name);
    else
      names.insert(names.end(), gone.fused.begin(), gone.fused.end());
  });
  ir.remove(absorbed);
}

}  // namespace belfry
