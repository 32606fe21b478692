#include "belfry/ops/internal/update_checks.h"

#include "belfry/base/check.h"

namespace belfry {

Shapes updated_shape(const ShapeContext& c) {
  BELFRY_CHECK(is_float(c.dtype(0)), "expected a variable of a float type, got {}", name_of(c.dtype(0)));
  return c.input(0);
}

void check_alike(const ShapeContext& c, int input, const char* what) {
  BELFRY_CHECK(c.dtype(input) == c.dtype(0) && compatible(c.input(input), c.input(0)),
               "expected {} of the variable's {} {}, got {} {}", what, name_of(c.dtype(0)), to_string(c.input(0)),
               name_of(c.dtype(input)), to_string(c.input(input)));
}

void check_scalar(const ShapeContext& c, int input, const char* what) {
  BELFRY_CHECK(c.input(input).rank() == 0 && is_float(c.dtype(input)), "expected {} that is a single float, got {} {}", what,
               name_of(c.dtype(input)), to_string(c.input(input)));
}

Operand updated(const Variable& variable, const Operand& beside) { return {variable.handle(), beside.where()}; }

}  // namespace belfry
