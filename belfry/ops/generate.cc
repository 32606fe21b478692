#include "belfry/ops/generate.h"

#include <cmath>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/axes.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/input_checks.h"
#include "belfry/ops/of_shape.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

std::vector<DType> type_rule(const ShapeContext& c) { return {c.attributes().get<DType>("dtype")}; }

Shape with_axis(const Shape& indices, std::int64_t axis, std::int64_t depth) {
  Shape out;
  for (int i = 0, from = 0; i <= indices.rank(); ++i) out.push_back(i == axis ? depth : indices[from++]);
  return out;
}

const OpRegistration one_hot_def = define_op("OneHot")
                                       .input("indices")
                                       .output("y")
                                       .dtype(type_rule)
                                       .shape([](const ShapeContext& c) {
                                         check_label_type(c, 0, "indices");
                                         const std::int64_t depth = c.attributes().integer("depth"),
                                                            axis = c.attributes().integer("axis");
                                         BELFRY_CHECK(depth >= 0, "expected a depth of 0 or more, got {}", depth);
                                         return with_axis(c.input(0), axis, depth);
                                       })
                                       .not_differentiable()
                                       .doc("One number at each index along a new axis, another elsewhere.");

const OpRegistration one_hot_like_def =
    define_op("OneHotLike")
        .input("indices")
        .input("classes")
        .output("y")
        .shape_only(1)
        .dtype(type_rule)
        .shape([](const ShapeContext& c) {
          check_label_type(c, 0, "indices");
          return with_axis(c.input(0), c.attributes().integer("axis"), c.input(1)[0]);
        })
        .not_differentiable()
        .doc("One number at each index along a new axis as long as a vector, another elsewhere.");

const OpRegistration range_like_def = define_op("RangeLike")
                                          .input("like")
                                          .output("y")
                                          .shape_only(0)
                                          .dtype(type_rule)
                                          .shape([](const ShapeContext& c) { return c.input(0); })
                                          .not_differentiable()
                                          .doc("0, 1, 2, ... along a vector.");

const OpRegistration range_def = define_op("Range")
                                     .output("y")
                                     .dtype(type_rule)
                                     .shape([](const ShapeContext& c) { return Shape{c.attributes().integer("size")}; })
                                     .not_differentiable()
                                     .doc("Numbers in steps of one size.");

}  // namespace

Tensor one_hot(const Operand& indices, const Size& depth, const OneHotOptions& options, std::string_view name) {
  const std::int64_t axis = normalize_axis(indices, options.axis, indices.tensor(i32).rank() + 1, "one_hot");
  if (!depth.is_number()) {
    const LocationScope location(indices.where());
    const Tensor classes = of_shape({depth}, "one_hot");
    return add_tensor(
        one_hot_like_def, {indices, classes},
        {.name = name,
         .attributes = {{"axis", axis}, {"on", options.on}, {"off", options.off}, {"dtype", options.dtype}}});
  }
  return add_tensor(one_hot_def, {indices},
                    {.name = name,
                     .attributes = {{"depth", depth.number()},
                                    {"axis", axis},
                                    {"on", options.on},
                                    {"off", options.off},
                                    {"dtype", options.dtype}}});
}

Tensor range(const RangeOptions& options, std::string_view name, const Location& where) {
  const LocationScope location(where);
  const double size = std::ceil((options.limit - options.start) / options.delta);
  BELFRY_CHECK(options.delta != 0 && std::isfinite(size) && size < 0x1p53,
               "[range] expected finite bounds and a delta other than 0, got {} to {} by {} (made at {})",
               options.start, options.limit, options.delta, to_string(current_location(where)));
  BELFRY_CHECK(options.dtype != boolean, "[range] expected a type of numbers, got bool (made at {})",
               to_string(current_location(where)));
  return add_tensor(range_def, {},
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
  const Tensor first = start.tensor(dtype), last = limit.tensor(dtype), step = delta.tensor(dtype);
  for (const Tensor& t : {first, last, step})
    BELFRY_CHECK(t.rank() == 0 && t.dtype() == dtype && dtype != boolean && dtype != u8,
                 "[range] expected scalars of one type of numbers, got {} (made at {}). Use cast() or reshape().",
                 to_string(t), to_string(current_location(limit.where())));
  const Tensor places = add_tensor(range_like_def, {of_shape({range_size(first, last, step)}, "range")},
                                   {.attributes = {{"start", 0.0}, {"delta", 1.0}, {"dtype", dtype}}});
  return add(places * step, first, name);
}

}  // namespace belfry
