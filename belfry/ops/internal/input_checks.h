// What many shape rules check of their inputs. The texts continue "[Op 'name'] ...".
#pragma once

#include <cstdint>

#include "belfry/graph/op_def.h"

namespace belfry {

// Which types an op computes with; the others carry data.
enum class Elements : std::uint8_t { floats, numbers, any };  // f32 and f64; these, i32 and i64; all

void check_elements(const ShapeContext& c, int input, Elements allowed);
void check_float(const ShapeContext& c, int input, const char* what);
void check_label_type(const ShapeContext& c, int input, const char* what);  // i32 or i64
// All inputs have one floating type.
void check_one_float_type(const ShapeContext& c);
// The shape of an input is, as far as both are known, this one.
void check_shape(const ShapeContext& c, int input, const char* what, const Shape& expected);

}  // namespace belfry
