#include "belfry/ops/mask.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/gather.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/internal/of_shape.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"

namespace belfry {
namespace {

bool fits(const Shape& mask, const Shape& x, int axis) {
  return mask.rank() >= 1 && axis + mask.rank() <= x.rank() && compatible(mask, x.slice(axis, axis + mask.rank()));
}

const OpRegistration true_places_def =
    define_op("TruePlaces")
        .input("mask")
        .input("like")
        .inputs("masked")
        .output("places")
        .shape_only(1)
        .shape_only(2)
        .dtype(i64)
        .shape([](const ShapeContext& c) {
          const Shape& mask = c.input(0);
          BELFRY_CHECK(c.dtype(0) == boolean && c.input(1).rank() == 1,
                       "expected a mask of bool and a vector for the length, got {} {} and {}", name_of(c.dtype(0)),
                       to_string(mask), to_string(c.input(1)));
          if (c.inputs() == 2) return c.input(1);
          const int axis = static_cast<int>(c.attributes().integer("axis"));
          BELFRY_CHECK(
              fits(mask, c.input(2), axis),
              "expected a mask of the shape of axes from {} on of {}, got {}. Give one element for each of theirs",
              axis, to_string(c.input(2)), to_string(mask));
          return c.input(1);
        })
        .not_differentiable()
        .doc("The places where a mask is true, in row-major order, as many as like has elements.");

// The numbers of the true elements, counted in row-major order. The mask is for axes of another tensor, if one is
// given.
Tensor true_places(const Tensor& mask, const Tensor& masked = {}, int axis = 0) {
  std::vector<Operand> inputs{mask, of_shape({reduce_sum(cast(mask, i64))}, "boolean_mask")};
  if (masked) inputs.emplace_back(masked);
  return add_tensor(true_places_def, inputs, {.attributes = {{"axis", std::int64_t{axis}}}});
}

void check_mask(const Tensor& mask, const char* op, const Location& where) {
  BELFRY_CHECK(mask.dtype() == boolean,
               "[{}] expected a condition of type bool, got {} (made at {}). Compare it: x > 0.", op, to_string(mask),
               to_string(current_location(where)));
}

}  // namespace

Tensor boolean_mask(const Operand& x, const Operand& mask, const MaskOptions& options, std::string_view name) {
  const LocationScope location(x.where());
  const Tensor t = x.tensor(), m = mask.tensor();
  check_mask(m, "boolean_mask", x.where());
  const auto axis = static_cast<int>(normalize_axis(x, options.axis, t.rank(), "boolean_mask"));
  BELFRY_CHECK(fits(m.shape(), t.shape(), axis),
               "[boolean_mask] expected a mask of the shape of axes from {} on of '{}' {}, got {} (made at {}).", axis,
               t.name(), to_string(t.shape()), to_string(m), to_string(current_location(x.where())));
  std::vector<Size> joined;
  for (int i = 0; i < axis; ++i) joined.emplace_back(size_of(t, i));
  joined.emplace_back(reduce_prod(shape_of(m)));
  for (int i = axis + m.rank(); i < t.rank(); ++i) joined.emplace_back(size_of(t, i));
  return gather(m.rank() == 1 ? t : reshape(t, joined), true_places(m, t, axis), {.axis = axis}, name);
}

Tensor nonzero(const Operand& condition, std::string_view name) {
  const LocationScope location(condition.where());
  const Tensor mask = condition.tensor();
  check_mask(mask, "nonzero", condition.where());
  BELFRY_CHECK(mask.rank() >= 1, "[nonzero] expected a tensor with axes, got a scalar (made at {}).",
               to_string(current_location(condition.where())));
  Tensor rest = true_places(mask);
  Tensors indices(static_cast<std::size_t>(mask.rank()));
  for (int axis = mask.rank() - 1; axis >= 0; --axis) {
    const Tensor size = size_of(mask, axis);
    indices[static_cast<std::size_t>(axis)] = axis == 0 ? rest : floormod(rest, size);
    rest = floordiv(rest, size);
  }
  return stack(indices, 1, name);
}

Tensor sequence_mask(const Operand& lengths, const Size& steps, std::string_view name) {
  const LocationScope location(lengths.where());
  const Tensor t = lengths.tensor(i64);
  BELFRY_CHECK(t.dtype() == i32 || t.dtype() == i64,
               "[sequence_mask] expected lengths of type i32 or i64, got {} (made at {}). Use cast().", to_string(t),
               to_string(current_location(lengths.where())));
  const Tensor places = steps.is_number() ? range({.limit = static_cast<double>(steps.number()), .dtype = t.dtype()})
                                          : range(0, cast(steps.scalar(), t.dtype()));
  return less(places, expand_dims(t, -1), name);
}
Tensor sequence_mask(const Operand& lengths, std::string_view name) {
  const LocationScope location(lengths.where());
  return sequence_mask(lengths, maximum(reduce_max(lengths), 0), name);
}

}  // namespace belfry
