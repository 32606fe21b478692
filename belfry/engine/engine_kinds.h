// Nodes that several of the engine's passes make or look for, and that no graph has. They are declared as the graph's
// ops are, so that passes ask one question of both: node.op.definition().silent. What one pass makes for a kernel alone
// (fused ops) is named in its file, and what is special about it is said by the kernel.
#pragma once

#include "belfry/graph/op_kind.h"

namespace belfry {

extern const OpKind kFeed;       // what the caller gives to the run
extern const OpKind kFetch;      // what the run gives to the caller
extern const OpKind kReceive;    // what comes from another part of the run: a value, a shape or only the news
extern const OpKind kSend;       // what goes to another part
extern const OpKind kShapeOnly;  // stands for a tensor of which only the shape is used
extern const OpKind kSnapshot;   // a copy, in memory of its own

// Ops of the graph that several passes look for.
extern const OpKind kAdd, kConstant, kLeakyRelu, kMatMul, kMul, kReadVariable, kRelu, kReluGrad, kSumToLike;

}  // namespace belfry
