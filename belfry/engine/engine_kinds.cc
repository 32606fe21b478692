#include "belfry/engine/engine_kinds.h"

namespace belfry {

const OpKind kFeed = op_kind("Feed");
const OpKind kFetch = op_kind("Fetch");
const OpKind kReceive = op_kind("Receive");
const OpKind kSend = op_kind("Send");
const OpKind kShapeOnly = op_kind("ShapeOnly");
const OpKind kSnapshot = op_kind("Snapshot");
const OpKind kReorder = op_kind("Reorder");
const OpKind kVariableCopy = op_kind("VariableCopy");

}  // namespace belfry
