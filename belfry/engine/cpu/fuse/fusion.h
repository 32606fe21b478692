// The table of patterns that the fuse pass applies, in order, and helpers that their files share. Each pattern is tried
// at every node, first to last, and rewrites the nodes around it if it matches.
#pragma once

#include <vector>

#include "belfry/engine/cpu/kernel/kernel_of.h"

namespace belfry {

extern const OpKind kFusedMatMul;  // that several patterns make
// Ops of the graph that several patterns look for.
extern const OpKind kAdd, kLeakyRelu, kMatMul, kMul, kRelu, kReluGrad, kSumToLike;

struct FusionPattern {
  const char* name;
  bool (*apply)(Ir& ir, NodeId node);  // returns whether it rewrote anything
  std::vector<OpKind> starts{};        // at nodes of these ops; empty: any
};

const std::vector<FusionPattern>& fusion_patterns();

// conv + bias + relu, transposed too; the filter's and the bias's gradient in one primitive.
bool fuse_conv_bias_relu(Ir& ir, NodeId id);
bool fuse_conv_transpose_bias_relu(Ir& ir, NodeId id);
bool fuse_conv_bias_gradient(Ir& ir, NodeId id);
// matmul + bias + relu; relu's gradient and the bias's in one pass.
bool fuse_matmul_bias_relu(Ir& ir, NodeId id);
bool fuse_relu_bias_gradient(Ir& ir, NodeId id);
bool fuse_bias_gradient_alone(Ir& ir, NodeId id);
// matmul + bias + gelu; gelu's gradient in the product before it.
bool fuse_matmul_gelu(Ir& ir, NodeId id);
bool fuse_gelu_gradient(Ir& ir, NodeId id);
// layer norm + residual; its gradient with the residual's.
bool fuse_layer_norm_sum(Ir& ir, NodeId id);
bool fuse_layer_norm_gradient_sum(Ir& ir, NodeId id);
// max pooling keeps the winners' indices; the gradient of a relu before it is fused.
bool fuse_max_pool_index(Ir& ir, NodeId id);
bool fuse_max_pool_relu_gradient(Ir& ir, NodeId id);
// batch norm + residual + relu, forward and backward.
bool fuse_batch_norm_relu(Ir& ir, NodeId id);
bool fuse_batch_norm_relu_gradient(Ir& ir, NodeId id);
// What is left of batch norm takes the same kernels.
bool fuse_batch_norm_alone(Ir& ir, NodeId id);
bool fuse_batch_norm_gradient_sum(Ir& ir, NodeId id);
// Attention on queries, keys and values side by side.
bool fuse_packed_attention(Ir& ir, NodeId id);
// Softmax cross-entropy with its gradient.
bool fuse_cross_entropy(Ir& ir, NodeId id);
// An L2 penalty's gradient becomes weight decay of the update.
bool fuse_weight_decay(Ir& ir, NodeId id);
// A gradient times a scalar: the update multiplies.
bool fuse_gradient_scale(Ir& ir, NodeId id);
// Chains of pointwise ops in one pass.
bool fuse_pointwise(Ir& ir, NodeId id);

// No control edge leads to or from the node: it may be moved into another.
bool unordered(const Ir& ir, NodeId id);
// The same of `other`, and on the same device as `into`.
bool fusable(const Ir& ir, NodeId into, NodeId other);
// The only reader of a value, or kNone.
NodeId only_reader(const Ir& ir, ValueId value);
std::vector<NodeId> readers_of(const Ir& ir, ValueId value);
// An input that is a vector along the last axis of `of`: a bias in channels-last order.
bool is_bias(const Ir& ir, ValueId bias, ValueId of);
// The product itself if it has one reader, else a copy of it for that one.
NodeId own_product(Ir& ir, NodeId id);
// `absorbed` becomes part of `into`: its name is kept for explain(), and it is dead.
void absorb(Ir& ir, NodeId into, NodeId absorbed);

}  // namespace belfry
