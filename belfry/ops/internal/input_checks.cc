#include "belfry/ops/internal/input_checks.h"

#include "belfry/base/check.h"

namespace belfry {

void check_elements(const ShapeContext& c, int input, Elements allowed) {
  const DType dtype = c.dtype(input);
  const bool number = dtype == i32 || dtype == i64;
  BELFRY_CHECK(allowed == Elements::any || is_float(dtype) || (allowed == Elements::numbers && number),
               "expected elements of {}, got {}. Use cast()",
               allowed == Elements::floats ? "f32 or f64" : "f32, f64, i32 or i64", name_of(dtype));
}

void check_float(const ShapeContext& c, int input, const char* what) {
  BELFRY_CHECK(is_float(c.dtype(input)), "expected {} of a floating type, got {}. Use cast()", what,
               name_of(c.dtype(input)));
}

void check_label_type(const ShapeContext& c, int input, const char* what) {
  const DType dtype = c.dtype(input);
  BELFRY_CHECK(dtype == i32 || dtype == i64, "expected {} of type i32 or i64, got {}. Use cast()", what,
               name_of(dtype));
}

void check_one_float_type(const ShapeContext& c) {
  for (int i = 0; i < c.inputs(); ++i)
    BELFRY_CHECK(is_float(c.dtype(i)) && c.dtype(i) == c.dtype(0),
                 "expected inputs of one floating type, got {} and {}. Use cast()", name_of(c.dtype(0)),
                 name_of(c.dtype(i)));
}

void check_shape(const ShapeContext& c, int input, const char* what, const Shape& expected) {
  BELFRY_CHECK(compatible(c.input(input), expected), "expected {} of shape {}, got {}", what, to_string(expected),
               to_string(c.input(input)));
}

}  // namespace belfry
