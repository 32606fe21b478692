#include "belfry/ops/generate.h"

#include <cmath>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/axes.h"
#include "belfry/ops/input_checks.h"

namespace belfry {
namespace {

std::vector<DType> type_rule(const ShapeContext& c) { return {c.attributes().get<DType>("dtype")}; }

const OpRegistration one_hot_def = define_op("OneHot")
                                       .input("indices")
                                       .output("y")
                                       .dtype(type_rule)
                                       .shape([](const ShapeContext& c) {
                                         check_label_type(c, 0, "indices");
                                         const std::int64_t depth = c.attributes().integer("depth"),
                                                            axis = c.attributes().integer("axis");
                                         BELFRY_CHECK(depth >= 0, "expected a depth of 0 or more, got {}", depth);
                                         Shape out;
                                         for (int i = 0, from = 0; i <= c.input(0).rank(); ++i)
                                           out.push_back(i == axis ? depth : c.input(0)[from++]);
                                         return out;
                                       })
                                       .not_differentiable()
                                       .doc("One number at each index along a new axis, another elsewhere.");

const OpRegistration range_def = define_op("Range")
                                     .output("y")
                                     .dtype(type_rule)
                                     .shape([](const ShapeContext& c) { return Shape{c.attributes().integer("size")}; })
                                     .not_differentiable()
                                     .doc("Numbers in steps of one size.");

const OpRegistration shape_of_def = define_op("ShapeOf")
                                        .input("x")
                                        .output("shape")
                                        .shape_only(0)
                                        .dtype(i64)
                                        .shape([](const ShapeContext& c) { return Shape{c.input(0).rank()}; })
                                        .not_differentiable()
                                        .doc("The sizes of a tensor's dimensions.");

}  // namespace

Tensor one_hot(const Operand& indices, std::int64_t depth, const OneHotOptions& options, std::string_view name) {
  const std::int64_t axis = normalize_axis(indices, options.axis, indices.tensor(i32).rank() + 1, "one_hot");
  return add_tensor(
      one_hot_def, {indices},
      {.name = name,
       .attributes = {
           {"depth", depth}, {"axis", axis}, {"on", options.on}, {"off", options.off}, {"dtype", options.dtype}}});
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

Tensor shape_of(const Operand& x, std::string_view name) { return add_tensor(shape_of_def, {x}, {.name = name}); }

}  // namespace belfry
