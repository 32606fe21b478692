#include "belfry/ops/heads.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"

namespace belfry {
namespace {

const OpRegistration split_last_def =
    define_op("SplitLastAxis")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          const Shape& x = c.input(0);
          const std::int64_t parts = c.attributes().integer("parts");
          BELFRY_CHECK(parts > 0, "expected one part or more, got {}", parts);
          BELFRY_CHECK(x.rank() >= 1, "expected a tensor with a last axis, got a scalar");
          BELFRY_CHECK(x[-1] == kAny || x[-1] % parts == 0,
                       "expected a last axis that divides into {} equal parts, got {}", parts, to_string(x));
          Shape out = x.slice(0, x.rank() - 1);
          out.push_back(parts);
          out.push_back(x[-1] == kAny ? kAny : x[-1] / parts);
          return out;
        })
        .gradient([](const GradientContext& c) { return Tensors{merge_last_axes(c.grad())}; })
        .keeps_elements()
        .doc("The last axis as two: the parts, and the elements of each.");

const OpRegistration merge_last_def =
    define_op("MergeLastAxes")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          const Shape& x = c.input(0);
          BELFRY_CHECK(x.rank() >= 2, "expected a tensor of rank 2 or more, got {}", to_string(x));
          Shape out = x.slice(0, x.rank() - 2);
          out.push_back(x.slice(x.rank() - 2, x.rank()).elements());
          return out;
        })
        // The number of parts may be unknown until a step is fed.
        .gradient([](const GradientContext& c) {
          return Tensors{add_tensor(find_op("ReshapeLike"), {c.grad(), c.input(0)})};
        })
        .keeps_elements()
        .doc("The last two axes as one.");

const OpRegistration band_part_def =
    define_op("BandPart")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          BELFRY_CHECK(c.input(0).rank() >= 2, "expected matrices (rank 2 or more), got {}", to_string(c.input(0)));
          for (const char* side : {"lower", "upper"})
            BELFRY_CHECK(c.attributes().integer(side) >= -1,
                         "expected .{} of 0 or more diagonals, or -1 for all of them, got {}", side,
                         c.attributes().integer(side));
          return c.input(0);
        })
        .gradient([](const GradientContext& c) {
          return Tensors{band_part(c.grad(), c.attributes().integer("lower"), c.attributes().integer("upper"))};
        })
        .doc("Matrices with 0 outside a band around their diagonal.");

}  // namespace

Tensor split_last_axis(const Operand& x, std::int64_t parts, std::string_view name) {
  return add_tensor(split_last_def, {x}, {.name = name, .attributes = {{"parts", parts}}});
}
Tensor merge_last_axes(const Operand& x, std::string_view name) {
  return add_tensor(merge_last_def, {x}, {.name = name});
}

Tensor split_heads(const Operand& x, std::int64_t heads, std::string_view name) {
  return transpose(split_last_axis(x, heads), {0, 2, 1, 3}, name);
}
Tensor merge_heads(const Operand& x, std::string_view name) {
  return merge_last_axes(transpose(x, {0, 2, 1, 3}), name);
}

Tensor band_part(const Operand& x, std::int64_t lower, std::int64_t upper, std::string_view name) {
  return add_tensor(band_part_def, {x}, {.name = name, .attributes = {{"lower", lower}, {"upper", upper}}});
}

}  // namespace belfry
