#include "belfry/engine/cpu/kernel/layout_kinds.h"

#include "belfry/graph/op_def.h"

namespace belfry {

const OpKind kReorder = define_op("Reorder").engine_kind();
const OpKind kVariableCopy = define_op("VariableCopy").silent().engine_kind();

}  // namespace belfry
