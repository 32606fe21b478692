// Nodes that several of the engine's passes make or look for, and that no graph has. They are declared like the graph's
// ops, so that passes can ask both the same question: node.op.definition().silent. Nodes that one pass makes for a
// kernel (fused ops) are named in its file, and their special properties are declared by the kernel.
#pragma once

#include "belfry/graph/op_kind.h"

namespace belfry {

extern const OpKind kFeed;       // what the caller gives to the run
extern const OpKind kFetch;      // what the run gives to the caller
extern const OpKind kReceive;    // what comes from another part of the run: a value, a shape or just a signal
extern const OpKind kSend;       // what goes to another part
extern const OpKind kShapeOnly;  // represents a tensor of which only the shape is used
extern const OpKind kSnapshot;   // a copy, in separate memory

// Ops of the graph that several passes look for.
extern const OpKind kConstant, kReadVariable;

}  // namespace belfry
