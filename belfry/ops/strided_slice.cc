#include "belfry/ops/strided_slice.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/internal/box_at.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/internal/known_ints.h"
#include "belfry/ops/internal/of_shape.h"
#include "belfry/ops/internal/strided_ranges.h"

namespace belfry {
namespace {

Shape sliced(const Shape& x, const Attributes& attributes) {
  const Ints& step = attributes.get<Ints>("step");
  BELFRY_CHECK(static_cast<int>(step.size()) <= x.rank(), "expected at most {} ranges, one per dimension of {}, got {}",
               x.rank(), to_string(x), step.size());
  Shape out = x;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const int axis = static_cast<int>(i);
    BELFRY_CHECK(step[i] != 0 && step[i] != kNoBound, "expected steps other than 0, got {} for axis {}", step[i], axis);
    if (x[axis] != kAny) out.set(axis, range_of(attributes, axis, x[axis]).count);
  }
  return out;
}

Tensor slice_with(const Tensor& x, const Attributes& attributes);

const OpRegistration strided_slice_grad_def =
    define_op("StridedSliceGrad")
        .input("x")
        .input("dy")
        .output("dx")
        .shape_only(0)
        .shape([](const ShapeContext& c) {
          const Shape part = sliced(c.input(0), c.attributes());
          BELFRY_CHECK(compatible(part, c.input(1)), "expected a gradient of shape {}, got {}", to_string(part),
                       to_string(c.input(1)));
          return c.input(0);
        })
        .dtype([](const ShapeContext& c) { return std::vector{c.dtype(1)}; })
        .gradient([](const GradientContext& c) { return Tensors{Tensor(), slice_with(c.grad(), c.attributes())}; })
        .doc("The gradient of StridedSlice: zeros in the shape of x with dy in its places.");

const OpRegistration strided_slice_def =
    define_op("StridedSlice")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) { return sliced(c.input(0), c.attributes()); })
        .ints([](const ShapeContext& c) {
          if (c.input(0).rank() != 1) return KnownInts();
          const ResolvedRange range = range_of(c.attributes(), 0, c.input(0)[0]);
          return picked_ints(c, range.first, range.count, range.step);
        })
        .gradient([](const GradientContext& c) {
          return Tensors{add_tensor(strided_slice_grad_def, {c.input(0), c.grad()}, {.attributes = c.attributes()})};
        })
        .doc("Every n-th element between two bounds along each axis.");

Tensor slice_with(const Tensor& x, const Attributes& attributes) {
  return add_tensor(strided_slice_def, {x}, {.attributes = attributes});
}

// Ranges whose bounds a run computes: input 0 gives the shape, the others are the bounds of the first axes.
Shape bounds_rule(const ShapeContext& c) {
  const Ints& step = c.attributes().get<Ints>("step");
  BELFRY_CHECK(static_cast<int>(step.size()) <= c.input(0).rank(),
               "expected at most {} ranges, one per dimension of {}, got {}", c.input(0).rank(), to_string(c.input(0)),
               step.size());
  BELFRY_CHECK(std::ranges::find(step, 0) == step.end(), "expected steps other than 0, got a step of 0");
  return {c.input(0).rank()};
}
KnownInts known_ranges(const ShapeContext& c, std::int64_t ResolvedRange::* part) {
  KnownInts out;
  for (int i = 0; i < c.input(0).rank(); ++i) {
    const auto axis = static_cast<std::size_t>(i);
    const auto bound = [&](int input) {
      const bool given = axis < static_cast<std::size_t>(c.input(input)[0]);
      if (!given) return std::optional(kNoBound);
      return c.ints(input).empty() ? std::nullopt : c.ints(input)[axis];
    };
    const std::optional<std::int64_t> begin = bound(1), end = bound(2);
    const bool known = begin && end && c.input(0)[i] != kAny;
    const std::int64_t step = c.attributes().get<Ints>("step")[axis];
    out.push_back(known ? std::optional(resolve_range(c.input(0)[i], *begin, *end, step).*part) : std::nullopt);
  }
  return out;
}
OpRegistration define_ranges(const char* name, std::int64_t ResolvedRange::* part, const char* doc) {
  return define_op(name)
      .input("x")
      .input("begin")
      .input("end")
      .output("y")
      .shape_only(0)
      .dtype(i64)
      .shape(bounds_rule)
      .ints([part](const ShapeContext& c) { return known_ranges(c, part); })
      .not_differentiable()
      .doc(doc);
}
const OpRegistration range_begins_def =
    define_ranges("RangeBegins", &ResolvedRange::first, "Where ranges with computed bounds begin.");
const OpRegistration range_counts_def =
    define_ranges("RangeCounts", &ResolvedRange::count, "How long ranges with computed bounds are.");

const OpRegistration reverse_def =
    define_op("Reverse")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) { return c.input(0); })
        .gradient([](const GradientContext& c) { return Tensors{reverse(c.grad(), c.attributes().get<Ints>("axes"))}; })
        .doc("The order of the elements along some axes reversed.");

// The permutation is its own inverse.
const OpRegistration reverse_sequence_def =
    define_op("ReverseSequence")
        .input("x")
        .input("lengths")
        .output("y")
        .shape([](const ShapeContext& c) {
          check_label_type(c, 1, "lengths");
          const std::int64_t batch = c.attributes().integer("batch_axis"),
                             sequence = c.attributes().integer("sequence_axis");
          BELFRY_CHECK(batch != sequence, "expected two axes, got {} for both the batch and the sequence", batch);
          check_shape(c, 1, "lengths", {c.input(0)[static_cast<int>(batch)]});
          return c.input(0);
        })
        .gradient([](const GradientContext& c) {
          return Tensors{reverse_sequence(c.grad(), c.input(1),
                                          {.sequence_axis = static_cast<int>(c.attributes().integer("sequence_axis")),
                                           .batch_axis = static_cast<int>(c.attributes().integer("batch_axis"))}),
                         Tensor()};
        })
        .doc("The first steps of each sequence reversed, as many as its length.");

}  // namespace

Tensor strided_slice(const Operand& x, const std::vector<SliceRange>& ranges, std::string_view name) {
  std::vector<Size> begin, end;
  Ints step;
  for (const SliceRange& range : ranges) {
    begin.push_back(range.begin.value_or(kNoBound));
    end.push_back(range.end.value_or(kNoBound));
    step.push_back(range.step);
  }
  const Sizes first(begin), last(end);
  const std::optional<Ints> known_first = first.numbers(), known_last = last.numbers();
  if (known_first && known_last)
    return add_tensor(strided_slice_def, {x},
                      {.name = name, .attributes = {{"begin", *known_first}, {"end", *known_last}, {"step", step}}});
  const LocationScope location(x.where());
  const Tensor t = x.tensor(), from = first.tensor("strided_slice"), to = last.tensor("strided_slice");
  step.resize(static_cast<std::size_t>(std::max(t.rank(), static_cast<int>(step.size()))), 1);
  const auto resolved = [&](OpRegistration def) {
    return add_tensor(def, {t, from, to}, {.attributes = {{"step", step}}});
  };
  return slice_at(t, resolved(range_begins_def), of_shape(resolved(range_counts_def), "strided_slice"), step, name);
}

Tensor reverse(const Operand& x, const Ints& axes, std::string_view name) {
  return add_tensor(reverse_def, {x},
                    {.name = name, .attributes = {{"axes", normalize_axes(x, axes, x.tensor().rank(), "reverse")}}});
}

Tensor reverse_sequence(const Operand& x, const Operand& lengths, const ReverseSequenceOptions& options,
                        std::string_view name) {
  const int rank = x.tensor().rank();
  const std::int64_t sequence = normalize_axis(x, options.sequence_axis, rank, "reverse_sequence"),
                     batch = normalize_axis(x, options.batch_axis, rank, "reverse_sequence");
  return add_tensor(reverse_sequence_def, {x, lengths},
                    {.name = name, .attributes = {{"sequence_axis", sequence}, {"batch_axis", batch}}});
}

}  // namespace belfry
