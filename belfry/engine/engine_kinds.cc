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

const OpKind kAdd = op_kind("Add"), kConstant = op_kind("Constant"), kLeakyRelu = op_kind("LeakyRelu"),
             kMatMul = op_kind("MatMul"), kMul = op_kind("Mul"), kReadVariable = op_kind("ReadVariable"),
             kRelu = op_kind("Relu"), kReluGrad = op_kind("ReluGrad"), kSumToLike = op_kind("SumToLike");

}  // namespace belfry
