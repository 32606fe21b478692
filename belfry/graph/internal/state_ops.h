// The ops that Variable's own methods add, and the default initialiser.
#pragma once

#include "belfry/graph/op_def.h"
#include "belfry/graph/variable.h"

namespace belfry {

OpRegistration constant_op();
OpRegistration variable_op();
OpRegistration read_variable_op();
OpRegistration assign_op();
OpRegistration assign_add_op();
OpRegistration assign_sub_op();
Initializer default_initializer();

}  // namespace belfry
