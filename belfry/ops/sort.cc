#include "belfry/ops/sort.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/internal/input_checks.h"

namespace belfry {
namespace {

// The shape of indices: x's but along the axis.
void check_along(const ShapeContext& c, int indices) {
  check_label_type(c, indices, "indices");
  Shape wanted = c.input(0);
  BELFRY_CHECK(c.input(indices).rank() == wanted.rank(), "expected indices of rank {}, as x {}, got {}", wanted.rank(),
               to_string(wanted), to_string(c.input(indices)));
  const int axis = static_cast<int>(c.attributes().integer("axis"));
  wanted.set(axis, kAny);
  BELFRY_CHECK(compatible(wanted, c.input(indices)), "expected indices of shape {}, got {}", to_string(wanted),
               to_string(c.input(indices)));
}

Tensor put_along_axis(const Tensor& x, const Tensor& indices, const Tensor& dy, const Attributes& attributes);

const OpRegistration take_def =
    define_op("TakeAlongAxis")
        .input("x")
        .input("indices")
        .output("y")
        .shape([](const ShapeContext& c) {
          check_along(c, 1);
          Shape same = c.input(0);
          const int axis = static_cast<int>(c.attributes().integer("axis"));
          same.set(axis, c.input(1)[axis]);
          return merge(same, c.input(1));
        })
        .gradient([](const GradientContext& c) {
          return Tensors{put_along_axis(c.input(0), c.input(1), c.grad(), c.attributes()), Tensor()};
        })
        .doc("Elements chosen by their indices along an axis.");

const OpRegistration put_def =
    define_op("TakeAlongAxisGrad")
        .input("x")
        .input("indices")
        .input("dy")
        .output("dx")
        .shape_only(0)
        .shape([](const ShapeContext& c) {
          check_along(c, 1);
          check_shape(c, 2, "dy", c.input(1));
          return c.input(0);
        })
        .dtype([](const ShapeContext& c) { return std::vector{c.dtype(2)}; })
        .gradient([](const GradientContext& c) {
          return Tensors{Tensor(), Tensor(),
                         take_along_axis(c.grad(), c.input(1), static_cast<int>(c.attributes().integer("axis")))};
        })
        .doc("The gradient of TakeAlongAxis: dy added up where it came from.");

Tensor put_along_axis(const Tensor& x, const Tensor& indices, const Tensor& dy, const Attributes& attributes) {
  return add_tensor(put_def, {x, indices, dy}, {.attributes = attributes});
}

const OpRegistration argsort_def = define_op("ArgSort")
                                       .input("x")
                                       .output("indices")
                                       .dtype(i64)
                                       .shape([](const ShapeContext& c) { return c.input(0); })
                                       .not_differentiable()
                                       .doc("The indices that sort the vectors along the last axis.");

const OpRegistration top_k_def =
    define_op("TopK")
        .input("x")
        .output("indices")
        .dtype(i64)
        .shape([](const ShapeContext& c) {
          const std::int64_t k = c.attributes().integer("k");
          BELFRY_CHECK(c.input(0).rank() >= 1, "expected a tensor of rank 1 or more, got a scalar");
          const std::int64_t size = c.input(0)[-1];
          BELFRY_CHECK(k >= 0 && (size == kAny || k <= size),
                       "expected k from 0 to the size of the last axis of {}, got {}", to_string(c.input(0)), k);
          Shape out = c.input(0);
          out.set(-1, k);
          return out;
        })
        .not_differentiable()
        .doc("The indices of the k largest elements of the vectors along the last axis.");

}  // namespace

Tensor take_along_axis(const Operand& x, const Operand& indices, int axis, std::string_view name) {
  const std::int64_t positive = normalize_axis(x, axis, x.tensor().rank(), "take_along_axis");
  return add_tensor(take_def, {x, indices}, {.name = name, .attributes = {{"axis", positive}}});
}

Tensor argsort(const Operand& x, int axis, SortOrder order, std::string_view name) {
  const LocationScope location(x.where());
  const Tensor t = x.tensor();
  const std::int64_t positive = normalize_axis(x, axis, t.rank(), "argsort"), last = t.rank() - 1;
  const Attributes attributes{{"descending", order == SortOrder::descending}};
  if (positive == last) return add_tensor(argsort_def, {x}, {.name = name, .attributes = attributes});
  Ints swapped;  // the kernel sorts along the last axis
  for (std::int64_t i = 0; i <= last; ++i) swapped.push_back(i == positive ? last : i == last ? positive : i);
  return transpose(add_tensor(argsort_def, {transpose(t, swapped)}, {.attributes = attributes}), swapped, name);
}

Tensor sort(const Operand& x, int axis, SortOrder order, std::string_view name) {
  const LocationScope location(x.where());
  normalize_axis(x, axis, x.tensor().rank(), "sort");
  return take_along_axis(x, argsort(x, axis, order), axis, name);
}

TopK top_k(const Operand& x, std::int64_t k, std::string_view name) {
  const LocationScope location(x.where());
  const Tensor indices = add_tensor(top_k_def, {x}, {.name = name, .attributes = {{"k", k}}});
  return {take_along_axis(x, indices), indices};
}

}  // namespace belfry
