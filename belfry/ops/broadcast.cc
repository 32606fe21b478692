#include "belfry/ops/broadcast.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

void check_broadcasts(const Shape& from, const Shape& to) {
  BELFRY_CHECK(compatible(broadcast(from, to), to), "expected a shape that broadcasts to {}, got {}", to_string(to),
               to_string(from));
}

const OpRegistration sum_to_like_def =
    define_op("SumToLike")
        .input("x")
        .input("like")
        .output("y")
        .shape_only(1)
        .forwards_if_same()
        .shape([](const ShapeContext& c) {
          check_broadcasts(c.input(1), c.input(0));
          return c.input(1);
        })
        .gradient([](const GradientContext& c) { return Tensors{broadcast_like(c.grad(), c.input(0)), Tensor()}; })
        .doc("Sums over the axes along which a tensor of like's shape would have been broadcast.");

const OpRegistration broadcast_like_def =
    define_op("BroadcastLike")
        .input("x")
        .input("like")
        .output("y")
        .shape_only(1)
        .forwards_if_same()
        .shape([](const ShapeContext& c) {
          check_broadcasts(c.input(0), c.input(1));
          return c.input(1);
        })
        .gradient([](const GradientContext& c) { return Tensors{sum_to_like(c.grad(), c.input(0)), Tensor()}; })
        .doc("Repeats a tensor to like's shape by NumPy's rules.");

const OpRegistration reshape_like_def =
    define_op("ReshapeLike")
        .input("x")
        .input("like")
        .output("y")
        .shape_only(1)
        .forwards_if_same()
        .shape([](const ShapeContext& c) {
          const std::int64_t from = c.input(0).elements(), to = c.input(1).elements();
          BELFRY_CHECK(from == kAny || to == kAny || from == to, "expected {} elements, got {}", to, from);
          return c.input(1);
        })
        .gradient([](const GradientContext& c) { return Tensors{reshape_like(c.grad(), c.input(0)), Tensor()}; })
        .keeps_elements()
        .doc("The same elements in like's shape.");

const OpRegistration match_sizes_def =
    define_op("MatchSizes")
        .input("x")
        .input("like")
        .output("y")
        .shape_only(1)
        .forwards_if_same()
        .shape([](const ShapeContext& c) {
          const Ints &axes = c.attributes().get<Ints>("axes"), &others = c.attributes().get<Ints>("like_axes");
          Shape out = c.input(0);
          for (std::size_t i = 0; i < axes.size(); ++i) {
            const auto axis = static_cast<int>(axes[i]), other = static_cast<int>(others[i]);
            const std::int64_t size = c.input(0)[axis], wanted = c.input(1)[other];
            BELFRY_CHECK(size == wanted || size == kAny || wanted == kAny,
                         "expected axis {} of {} as large as axis {} of {}, got {} and {}", axis, to_string(c.input(0)),
                         other, to_string(c.input(1)), size, wanted);
            if (size == kAny) out.set(axis, wanted);
          }
          return out;
        })
        .gradient([](const GradientContext& c) { return Tensors{c.grad(), Tensor()}; })
        .keeps_elements()
        .doc("x itself; some of its axes must be as large as certain ones of like.");

}  // namespace

Tensor sum_to_like(const Operand& x, const Operand& like, std::string_view name) {
  // Nothing was broadcast if the shapes are known and equal.
  if (name.empty() && x.tensor().shape() == like.tensor().shape() && x.tensor().shape().is_concrete())
    return x.tensor();
  return add_tensor(sum_to_like_def, {x, like}, {.name = name});
}
Tensor broadcast_like(const Operand& x, const Operand& like, std::string_view name) {
  return add_tensor(broadcast_like_def, {x, like}, {.name = name});
}
Tensor reshape_like(const Operand& x, const Operand& like, std::string_view name) {
  return add_tensor(reshape_like_def, {x, like}, {.name = name});
}
Tensor match_sizes(const Operand& x, const Ints& axes, const Operand& like, const Ints& like_axes,
                   std::string_view name) {
  return add_tensor(match_sizes_def, {x, like},
                    {.name = name, .attributes = {{"axes", axes}, {"like_axes", like_axes}}});
}

}  // namespace belfry
