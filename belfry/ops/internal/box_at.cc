#include "belfry/ops/internal/box_at.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/sizes.h"

namespace belfry {
namespace {

// Inputs: what is moved, where the box begins, and a tensor of the result's shape.
Shape box_rule(const ShapeContext& c) {
  const Shape &x = c.input(0), &like = c.input(2);
  check_one_each(c, 1, "begin");
  BELFRY_CHECK(like.rank() == x.rank(), "expected a size for each of the {} dimensions of {}, got {}", x.rank(),
               to_string(x), like.rank());
  return like;
}

using T = const Tensor&;
using Move = Tensor (*)(const Operand& x, const Tensor& begin, const Tensor& like, const Ints& steps);

// One moves what the other put there: each is the other's gradient.
OpRegistration define_move(const char* name, Move back, const char* doc) {
  return define_op(name)
      .input("x")
      .input("begin")
      .input("like")
      .output("y")
      .shape_only(2)
      .shape(box_rule)
      .gradient([back](const GradientContext& c) {
        return Tensors{back(c.grad(), c.input(1), c.input(0), c.attributes().get<Ints>("steps")), Tensor(), Tensor()};
      })
      .doc(doc);
}

const OpRegistration slice_at_def = define_move(
    "SliceAt", [](const Operand& x, T begin, T like, const Ints& steps) { return place_at(x, begin, like, steps); },
    "A box cut out of a tensor at a place that a run computes.");
const OpRegistration place_at_def = define_move(
    "PlaceAt", [](const Operand& x, T begin, T like, const Ints& steps) { return slice_at(x, begin, like, steps); },
    "A constant with a tensor at a place that a run computes.");

const OpRegistration box_sizes_def =
    define_op("BoxSizes")
        .input("x")
        .input("begin")
        .input("sizes")
        .output("complete")
        .shape_only(0)
        .dtype(i64)
        .shape([](const ShapeContext& c) {
          check_one_each(c, 1, "begin");
          check_one_each(c, 2, "size");
          return Shape{c.input(0).rank()};
        })
        .ints([](const ShapeContext& c) {
          KnownInts out = c.ints(2);
          out.resize(static_cast<std::size_t>(c.input(0).rank()));
          for (int i = 0; i < c.input(0).rank(); ++i) {
            const auto axis = static_cast<std::size_t>(i);
            if (out[axis] != kAny) continue;
            const bool known = !c.ints(1).empty() && c.ints(1)[axis] && c.input(0)[i] != kAny;
            out[axis] = known ? std::optional(c.input(0)[i] - *c.ints(1)[axis]) : std::nullopt;
          }
          return out;
        })
        .not_differentiable()
        .doc("The sizes of a box, where -1 means to the end.");

}  // namespace

void check_one_each(const ShapeContext& c, int input, const char* what) {
  const Shape& x = c.input(0);
  BELFRY_CHECK(c.dtype(input) == i64 && compatible(c.input(input), Shape{x.rank()}),
               "expected a {} for each of the {} dimensions of {}, got {} {}", what, x.rank(), to_string(x),
               name_of(c.dtype(input)), to_string(c.input(input)));
}

Tensor slice_at(const Operand& x, const Tensor& begin, const Tensor& like, const Ints& steps, std::string_view name) {
  return add_tensor(slice_at_def, {x, begin, like}, {.name = name, .attributes = {{"steps", steps}}});
}

Tensor place_at(const Operand& x, const Tensor& begin, const Tensor& like, const Ints& steps, double value,
                std::string_view name) {
  return add_tensor(place_at_def, {x, begin, like}, {.name = name, .attributes = {{"steps", steps}, {"value", value}}});
}

Tensor box_sizes(const Tensor& x, const Tensor& begin, const Tensor& sizes) {
  return add_tensor(box_sizes_def, {x, begin, sizes});
}

}  // namespace belfry
