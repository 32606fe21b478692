#include "belfry/ops/scatter_nd.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

// The shape of what indices [..., k] choose from x.
Shape chosen(const ShapeContext& c, int x, int indices) {
  check_label_type(c, indices, "indices");
  const Shape &from = c.input(x), &at = c.input(indices);
  BELFRY_CHECK(at.rank() >= 1 && at[-1] != kAny, "expected indices whose last dimension is known, got {}",
               to_string(at));
  const std::int64_t depth = at[-1];
  BELFRY_CHECK(depth <= from.rank(), "expected indices of at most {} axes, those of {}, got {} in {}", from.rank(),
               to_string(from), depth, to_string(at));
  Shape out = at.slice(0, at.rank() - 1);
  for (int i = static_cast<int>(depth); i < from.rank(); ++i) out.push_back(from[i]);
  return out;
}

Tensor scatter_like(const Operand& like, const Operand& indices, const Operand& updates, std::string_view name = "");

const OpRegistration gather_nd_def = define_op("GatherNd")
                                         .input("x")
                                         .input("indices")
                                         .output("y")
                                         .shape([](const ShapeContext& c) { return chosen(c, 0, 1); })
                                         .gradient([](const GradientContext& c) {
                                           return Tensors{scatter_like(c.input(0), c.input(1), c.grad()), Tensor()};
                                         })
                                         .doc("Parts of a tensor chosen by indices into its first axes.");

const OpRegistration scatter_nd_def =
    define_op("ScatterNd")
        .input("like")
        .input("indices")
        .input("updates")
        .output("y")
        .shape_only(0)
        .shape([](const ShapeContext& c) {
          check_elements(c, 2, Elements::numbers);
          check_shape(c, 2, "updates", chosen(c, 0, 1));
          return c.input(0);
        })
        .dtype([](const ShapeContext& c) { return std::vector{c.dtype(2)}; })
        .gradient([](const GradientContext& c) { return Tensors{Tensor(), Tensor(), gather_nd(c.grad(), c.input(1))}; })
        .doc("Zeros in the shape of a tensor with updates added at indices into its first axes.");

Tensor scatter_like(const Operand& like, const Operand& indices, const Operand& updates, std::string_view name) {
  return add_tensor(scatter_nd_def, {like, indices, updates}, {.name = name});
}

}  // namespace

Tensor gather_nd(const Operand& x, const Operand& indices, std::string_view name) {
  return add_tensor(gather_nd_def, {x, indices}, {.name = name});
}

Tensor scatter_nd(const Operand& indices, const Operand& updates, const Shape& shape, std::string_view name) {
  const LocationScope location(updates.where());
  return scatter_like(fill(shape, 0), indices, updates, name);  // of which only the shape is used
}

Tensor scatter_nd_add(const Operand& x, const Operand& indices, const Operand& updates, std::string_view name) {
  const LocationScope location(x.where());
  return add(x, scatter_like(x, indices, updates), name);
}

Tensor scatter_add(const Operand& x, const Operand& indices, const Operand& updates, std::string_view name) {
  const LocationScope location(x.where());
  return scatter_nd_add(x, expand_dims(indices, -1), updates, name);
}

}  // namespace belfry
