// What the ops that update variables check of their inputs, the first of which is the variable. The texts continue
// "[Op 'name'] ...".
#pragma once

#include "belfry/graph/op_def.h"
#include "belfry/graph/variable.h"

namespace belfry {

// The variable's own shape, once it is known to be of a float type.
Shapes updated_shape(const ShapeContext& c);
// An input of the variable's shape and type: a slot, a gradient.
void check_alike(const ShapeContext& c, int input, const char* what);
// One float: a learning rate.
void check_scalar(const ShapeContext& c, int input, const char* what);
// The operand for a variable that an op overwrites: the variable itself, even if a getter has remapped its value. The
// source line is that of `beside`.
Operand updated(const Variable& variable, const Operand& beside);

}  // namespace belfry
