// Nodes that the CPU's choice of layouts makes.
#pragma once

#include "belfry/graph/op_kind.h"

namespace belfry {

extern const OpKind kReorder;       // a copy in another layout
extern const OpKind kVariableCopy;  // the copy of a variable in another layout that its session keeps

}  // namespace belfry
