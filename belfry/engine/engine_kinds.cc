#include "belfry/engine/engine_kinds.h"

#include "belfry/graph/op_def.h"

namespace belfry {

const OpKind kFeed = define_op("Feed").source().everywhere().engine_kind();
const OpKind kFetch = define_op("Fetch").engine_kind();
// It may wait for an effect in the other part.
const OpKind kReceive = define_op("Receive").source().silent().side_effect().engine_kind();
const OpKind kSend = define_op("Send").engine_kind();
const OpKind kShapeOnly = define_op("ShapeOnly").standing().engine_kind();
const OpKind kSnapshot = define_op("Snapshot").engine_kind();

const OpKind kConstant = op_kind("Constant"), kReadVariable = op_kind("ReadVariable");

}  // namespace belfry
