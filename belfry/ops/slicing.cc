// Boxes cut out of tensors, and tensors surrounded.
#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/internal/box_at.h"
#include "belfry/ops/internal/known_ints.h"
#include "belfry/ops/internal/of_shape.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

bool is_open(const Size& size) { return size.is_number() && size.number() == kAny; }

// Whether a box of shape `part`, moved by `begin`, lies inside `whole`.
void check_inside(const Shape& part, const Ints& begin, const Shape& whole) {
  BELFRY_CHECK(part.rank() == whole.rank() && begin.size() == whole.dims().size(),
               "expected {} dimensions, got a box of {} at {} offsets", whole.rank(), part.rank(), begin.size());
  for (int i = 0; i < whole.rank(); ++i) {
    const std::int64_t offset = begin[static_cast<std::size_t>(i)];
    BELFRY_CHECK(
        offset >= 0 && (whole[i] == kAny || offset + std::max<std::int64_t>(part[i], 0) <= whole[i]),
        "expected a box inside {}, got {} from {} on along axis {}. Use a smaller size, or pad() the tensor first",
        to_string(whole), to_string(part), offset, i);
  }
}

Tensor slice_grad(const Tensor& x, const Tensor& dy, const Ints& begin);
Tensor slice_like(const Tensor& x, const Tensor& like, const Ints& begin);

const OpRegistration slice_def =
    define_op("Slice")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          const Ints &begin = c.attributes().get<Ints>("begin"), &size = c.attributes().get<Ints>("size");
          const Shape& x = c.input(0);
          BELFRY_CHECK(begin.size() == x.dims().size() && size.size() == begin.size(),
                       "expected a begin and a size for each of the {} dimensions of {}, got {} and {}. Use 0 and kAny "
                       "for those that stay whole",
                       x.rank(), to_string(x), begin.size(), size.size());
          Shape out;
          for (int i = 0; i < x.rank(); ++i) {
            const auto axis = static_cast<std::size_t>(i);
            BELFRY_CHECK(begin[axis] >= 0 && size[axis] >= kAny && (x[i] == kAny || begin[axis] <= x[i]),
                         "expected a box inside {}, got size {} from {} on along axis {}. Begin inside it; a size of "
                         "kAny takes all that is left",
                         to_string(x), size[axis], begin[axis], i);
            out.push_back(size[axis] != kAny ? size[axis] : x[i] == kAny ? kAny : x[i] - begin[axis]);
          }
          check_inside(out, begin, x);
          return out;
        })
        .ints([](const ShapeContext& c) {
          if (c.input(0).rank() != 1) return KnownInts();
          const std::int64_t begin = c.attributes().get<Ints>("begin")[0], size = c.attributes().get<Ints>("size")[0];
          return picked_ints(c, begin, size == kAny ? c.input(0)[0] - begin : size);
        })
        .gradient([](const GradientContext& c) {
          return Tensors{slice_grad(c.input(0), c.grad(), c.attributes().get<Ints>("begin"))};
        })
        .doc("A box cut out of a tensor.");

const OpRegistration slice_grad_def =
    define_op("SliceGrad")
        .input("x")
        .input("dy")
        .output("dx")
        .shape_only(0)
        .shape([](const ShapeContext& c) {
          check_inside(c.input(1), c.attributes().get<Ints>("begin"), c.input(0));
          return c.input(0);
        })
        .gradient([](const GradientContext& c) {
          return Tensors{Tensor(), slice_like(c.grad(), c.input(1), c.attributes().get<Ints>("begin"))};
        })
        .doc("The gradient of Slice: zeros in the shape of x with dy in its place.");

const OpRegistration slice_like_def =
    define_op("SliceLike")
        .input("x")
        .input("like")
        .output("y")
        .shape_only(1)
        .shape([](const ShapeContext& c) {
          check_inside(c.input(1), c.attributes().get<Ints>("begin"), c.input(0));
          return c.input(1);
        })
        .gradient([](const GradientContext& c) {
          return Tensors{slice_grad(c.input(0), c.grad(), c.attributes().get<Ints>("begin")), Tensor()};
        })
        .doc("A box of like's shape cut out of a tensor.");

Tensor slice_grad(const Tensor& x, const Tensor& dy, const Ints& begin) {
  return add_tensor(slice_grad_def, {x, dy}, {.attributes = {{"begin", begin}}});
}
Tensor slice_like(const Tensor& x, const Tensor& like, const Ints& begin) {
  return add_tensor(slice_like_def, {x, like}, {.attributes = {{"begin", begin}}});
}

const OpRegistration pad_def =
    define_op("Pad")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          const Ints &before = c.attributes().get<Ints>("before"), &after = c.attributes().get<Ints>("after");
          BELFRY_CHECK(
              before.size() == c.input(0).dims().size(),
              "expected a padding for each of the {} dimensions of {}, got {}. Use {{0, 0}} for those that stay the "
              "same",
              c.input(0).rank(), to_string(c.input(0)), before.size());
          Shape out = c.input(0);
          for (int i = 0; i < out.rank(); ++i) {
            const std::int64_t b = before[static_cast<std::size_t>(i)], a = after[static_cast<std::size_t>(i)];
            BELFRY_CHECK(b >= 0 && a >= 0,
                         "expected paddings of 0 or more, got {} and {} for axis {}. Use slice() to cut something off",
                         b, a, i);
            if (out[i] != kAny) out.set(i, out[i] + b + a);
          }
          return out;
        })
        .gradient([](const GradientContext& c) {
          return Tensors{slice_like(c.grad(), c.input(0), c.attributes().get<Ints>("before"))};
        })
        .doc("A tensor surrounded by a constant.");

// The sizes of a box. Only one that reaches to the end depends on where it begins.
Sizes sizes_from(const Tensor& x, const Sizes& begin, const Sizes& size) {
  const std::vector<Size>&from = begin.listed(), &sizes = size.listed();
  if (sizes.empty() || (from.empty() && std::ranges::any_of(sizes, is_open)))
    return box_sizes(x, begin.tensor("slice"), size.tensor("slice"));
  std::vector<Size> out = sizes;
  for (std::size_t i = 0; i < std::min(from.size(), sizes.size()); ++i) {
    const int axis = static_cast<int>(i);
    if (!is_open(sizes[i]) || axis >= x.rank()) continue;
    const Tensor all = size_of(x, axis);
    out[i] = from[i].is_number() ? all - from[i].number() : all - cast(from[i].scalar(), i64);
  }
  return out;
}

}  // namespace

Tensor slice(const Operand& x, const Sizes& begin, const Sizes& size, std::string_view name) {
  const std::optional<Ints> known_begin = begin.numbers(), known_size = size.numbers();
  if (known_begin && known_size)
    return add_tensor(slice_def, {x}, {.name = name, .attributes = {{"begin", *known_begin}, {"size", *known_size}}});
  const LocationScope location(x.where());
  const Tensor t = x.tensor(), first = begin.tensor("slice");
  return slice_at(t, first, of_shape(sizes_from(t, begin, size), "slice"), {}, name);
}

Tensor pad(const Operand& x, const std::vector<PadAmount>& paddings, double value, std::string_view name) {
  std::vector<Size> before, after;
  for (const PadAmount& p : paddings) {
    before.push_back(p.before);
    after.push_back(p.after);
  }
  const Sizes in_front(before), behind(after);
  const std::optional<Ints> known_before = in_front.numbers(), known_after = behind.numbers();
  if (known_before && known_after)
    return add_tensor(
        pad_def, {x},
        {.name = name, .attributes = {{"before", *known_before}, {"after", *known_after}, {"value", value}}});
  const LocationScope location(x.where());
  const Tensor t = x.tensor(), begin = in_front.tensor("pad");
  BELFRY_CHECK(
      static_cast<int>(paddings.size()) == t.rank(),
      "[pad] expected a padding for each of the {} dimensions of {}, got {} (made at {}). Use {{0, 0}} for those "
      "that stay the same.",
      t.rank(), to_string(t), paddings.size(), to_string(current_location(x.where())));
  return place_at(t, begin, of_shape(shape_of(t) + begin + behind.tensor("pad"), "pad"), {}, value, name);
}

}  // namespace belfry
