#include "belfry/ops/strided_slice.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/axes.h"
#include "belfry/ops/input_checks.h"
#include "belfry/ops/strided_ranges.h"

namespace belfry {
namespace {

Shape sliced(const Shape& x, const Attributes& attributes) {
  const Ints& step = attributes.get<Ints>("step");
  BELFRY_CHECK(static_cast<int>(step.size()) <= x.rank(), "expected at most {} ranges, one a dimension of {}, got {}",
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
        .gradient([](const GradientContext& c) {
          return Tensors{add_tensor(strided_slice_grad_def, {c.input(0), c.grad()}, {.attributes = c.attributes()})};
        })
        .doc("Every so manieth element between two bounds along each axis.");

Tensor slice_with(const Tensor& x, const Attributes& attributes) {
  return add_tensor(strided_slice_def, {x}, {.attributes = attributes});
}

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
  Ints begin, end, step;
  for (const SliceRange& range : ranges) {
    begin.push_back(range.begin.value_or(kNoBound));
    end.push_back(range.end.value_or(kNoBound));
    step.push_back(range.step);
  }
  return add_tensor(strided_slice_def, {x},
                    {.name = name, .attributes = {{"begin", begin}, {"end", end}, {"step", step}}});
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
