#include "belfry/ops/generate.h"

#include <cmath>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/internal/of_shape.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

std::vector<DType> type_rule(const ShapeContext& c) { return {c.attributes().get<DType>("dtype")}; }

Shape with_axis(const Shape& indices, std::int64_t axis, std::int64_t depth) {
  Shape out;
  for (int i = 0, from = 0; i <= indices.rank(); ++i) out.push_back(i == axis ? depth : indices[from++]);
  return out;
}

// An op whose shape is in its attributes, and the same with the shape of another tensor.
struct FixedAndLike {
  OpRegistration fixed, like;
};

FixedAndLike define_one_hot() {
  const auto common = [](OpDefinition& op) -> OpDefinition& {
    return op.output("y").dtype(type_rule).not_differentiable().doc(
        "One number at each index along a new axis, another one elsewhere.");
  };
  OpDefinition fixed = define_op("OneHot"), like = define_op("OneHotLike");
  fixed.input("indices").shape([](const ShapeContext& c) {
    check_label_type(c, 0, "indices");
    const std::int64_t depth = c.attributes().integer("depth");
    BELFRY_CHECK(depth >= 0, "expected a depth of 0 or more, got {}", depth);
    return with_axis(c.input(0), c.attributes().integer("axis"), depth);
  });
  like.input("indices").input("classes").shape_only(1).shape([](const ShapeContext& c) {
    check_label_type(c, 0, "indices");
    return with_axis(c.input(0), c.attributes().integer("axis"), c.input(1)[0]);
  });
  return {.fixed = common(fixed), .like = common(like)};
}
const FixedAndLike one_hot_defs = define_one_hot();

FixedAndLike define_range() {
  const auto common = [](OpDefinition& op) -> OpDefinition& {
    return op.output("y").dtype(type_rule).not_differentiable().doc("Evenly spaced numbers.");
  };
  OpDefinition fixed = define_op("Range"), like = define_op("RangeLike");
  fixed.shape([](const ShapeContext& c) { return Shape{c.attributes().integer("size")}; });
  like.input("like").shape_only(0).shape([](const ShapeContext& c) { return c.input(0); });
  return {.fixed = common(fixed), .like = common(like)};
}
const FixedAndLike range_defs = define_range();

}  // namespace

Tensor one_hot(const Operand& indices, const Size& depth, const OneHotOptions& options, std::string_view name) {
  const std::int64_t axis = normalize_axis(indices, options.axis, indices.tensor(i32).rank() + 1, "one_hot");
  Attributes attributes{{"axis", axis}, {"on", options.on}, {"off", options.off}, {"dtype", options.dtype}};
  if (depth.is_number()) {
    attributes.set("depth", depth.number());
    return add_tensor(one_hot_defs.fixed, {indices}, {.name = name, .attributes = std::move(attributes)});
  }
  const LocationScope location(indices.where());
  const Tensor classes = of_shape({depth}, "one_hot");
  return add_tensor(one_hot_defs.like, {indices, classes}, {.name = name, .attributes = std::move(attributes)});
}

Tensor range(const RangeOptions& options, std::string_view name, const Location& where) {
  const LocationScope location(where);
  const double size = std::ceil((options.limit - options.start) / options.delta);
  BELFRY_CHECK(options.delta != 0 && std::isfinite(size) && size < 0x1p53,
               "[range] expected finite bounds and a delta other than 0, got {} to {} by {} (made at {})",
               options.start, options.limit, options.delta, to_string(current_location(where)));
  BELFRY_CHECK(options.dtype != boolean, "[range] expected a type of numbers, got bool (made at {})",
               to_string(current_location(where)));
  return add_tensor(range_defs.fixed, {},
                    {.name = name,
                     .attributes = {{"size", static_cast<std::int64_t>(std::max(size, 0.0))},
                                    {"start", options.start},
                                    {"delta", options.delta},
                                    {"dtype", options.dtype}}});
}

namespace {

// How many steps of size delta there are from start up to limit: the quotient rounded up.
Tensor range_size(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  if (is_float(start.dtype())) return maximum(cast(ceil((limit - start) / delta), i64), 0);
  return cast(maximum(-floordiv(start - limit, delta), 0), i64);
}

}  // namespace

Tensor range(const Operand& start, const Operand& limit, const Operand& delta, std::string_view name) {
  const LocationScope location(limit.where());
  const auto type = [](const Operand& o) { return o.is_number() ? std::optional<DType>() : o.tensor().dtype(); };
  const DType dtype = type(limit).value_or(type(start).value_or(type(delta).value_or(i32)));
  BELFRY_CHECK(!delta.is_number() || delta.number() != 0, "[range] expected a delta other than 0, got 0 (made at {})",
               to_string(current_location(limit.where())));
  const Tensor first = start.tensor(dtype), last = limit.tensor(dtype), step = delta.tensor(dtype);
  for (const Tensor& t : {first, last, step})
    BELFRY_CHECK(t.rank() == 0 && t.dtype() == dtype && dtype != boolean && dtype != u8,
                 "[range] expected scalars of one type of numbers, got {} (made at {}). Use cast() or reshape().",
                 to_string(t), to_string(current_location(limit.where())));
  const Tensor places = add_tensor(range_defs.like, {of_shape({range_size(first, last, step)}, "range")},
                                   {.attributes = {{"start", 0.0}, {"delta", 1.0}, {"dtype", dtype}}});
  return add(places * step, first, name);
}

}  // namespace belfry
