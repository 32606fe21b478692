// Another shape or order of the axes; joining.cc and slicing.cc take tensors apart and put them together.
#include "belfry/ops/array_ops.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/internal/known_ints.h"
#include "belfry/ops/internal/of_shape.h"

namespace belfry {
namespace {

// Add or remove dimensions of size 1 at these (sorted) axes of the longer shape.
Tensor add_ones(const Operand& x, const Ints& axes, std::string_view name = "");
Tensor remove_ones(const Operand& x, const Ints& axes, std::string_view name = "");

Tensors reshape_back(const GradientContext& c) { return Tensors{reshape_like(c.grad(), c.input(0))}; }

// Fills in the one kAny of `wanted` once the number of elements is known.
Shape reshape_rule(const Shape& x, const Shape& wanted) {
  BELFRY_CHECK(std::ranges::count(wanted.dims(), kAny) <= 1,
               "expected a new shape with at most one unknown dimension, got {}", to_string(wanted));
  const std::int64_t elements = x.elements();
  if (elements == kAny) return wanted;
  Shape out = wanted;
  std::int64_t known = 1;
  int open = -1;
  for (int i = 0; i < wanted.rank(); ++i) {
    if (wanted[i] == kAny)
      open = i;
    else
      known *= wanted[i];
  }
  if (open >= 0) {
    BELFRY_CHECK(known != 0,
                 "expected a new shape whose unknown dimension follows from the others, got {} for a tensor of {} "
                 "elements. Give its size",
                 to_string(wanted), elements);
    out.set(open, elements / known);
  }
  BELFRY_CHECK(out.elements() == elements, "expected a new shape of {} elements, got {}", elements, to_string(wanted));
  return out;
}

const OpRegistration reshape_def =
    define_op("Reshape")
        .input("x")
        .output("y")
        .ints(same_ints)
        .shape([](const ShapeContext& c) { return reshape_rule(c.input(0), c.attributes().get<Shape>("shape")); })
        .forwards_if_same()
        .gradient(reshape_back)
        .keeps_elements()
        .doc("The same elements in another shape.");

const OpRegistration batch_flatten_def =
    define_op("BatchFlatten")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          const Shape& x = c.input(0);
          BELFRY_CHECK(x.rank() >= 1, "expected a tensor with a batch dimension, got a scalar");
          return Shape{x[0], x.slice(1, x.rank()).elements()};
        })
        .gradient(reshape_back)
        .keeps_elements()
        .doc("A matrix with one row for each entry along the first axis.");

const OpRegistration expand_dims_def =
    define_op("ExpandDims")
        .input("x")
        .output("y")
        .ints(same_ints)
        .shape([](const ShapeContext& c) {
          const Ints& axes = c.attributes().get<Ints>("axes");
          Shape out;
          for (int from = 0, i = 0; i < c.input(0).rank() + static_cast<int>(axes.size()); ++i)
            out.push_back(std::ranges::binary_search(axes, i) ? 1 : c.input(0)[from++]);
          return out;
        })
        .gradient(
            [](const GradientContext& c) { return Tensors{remove_ones(c.grad(), c.attributes().get<Ints>("axes"))}; })
        .keeps_elements()
        .doc("The same elements with new dimensions of size 1.");

const OpRegistration squeeze_def =
    define_op("Squeeze")
        .input("x")
        .output("y")
        .ints(same_ints)
        .shape([](const ShapeContext& c) {
          const Ints& axes = c.attributes().get<Ints>("axes");
          Shape out;
          for (int i = 0; i < c.input(0).rank(); ++i) {
            const std::int64_t size = c.input(0)[i];
            if (!std::ranges::binary_search(axes, i))
              out.push_back(size);
            else
              BELFRY_CHECK(size == 1 || size == kAny,
                           "expected dimensions of size 1 to remove, got {} at axis {} of {}", size, i,
                           to_string(c.input(0)));
          }
          return out;
        })
        .gradient(
            [](const GradientContext& c) { return Tensors{add_ones(c.grad(), c.attributes().get<Ints>("axes"))}; })
        .keeps_elements()
        .doc("The same elements without some dimensions of size 1.");

const OpRegistration transpose_def =
    define_op("Transpose")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          const Ints& permutation = c.attributes().get<Ints>("perm");
          BELFRY_CHECK(static_cast<int>(permutation.size()) == c.input(0).rank(),
                       "expected {} axes, one per dimension of {}, got {}", c.input(0).rank(), to_string(c.input(0)),
                       permutation.size());
          Shape out;
          for (std::int64_t axis : permutation) out.push_back(c.input(0)[static_cast<int>(axis)]);
          return out;
        })
        .gradient([](const GradientContext& c) {
          const Ints& permutation = c.attributes().get<Ints>("perm");
          Ints inverse(permutation.size());
          for (std::size_t i = 0; i < permutation.size(); ++i)
            inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
          return Tensors{transpose(c.grad(), inverse)};
        })
        .forwards_if_same(
            [](const Attributes& attributes) { return std::ranges::is_sorted(attributes.get<Ints>("perm")); })
        .doc("The axes in another order.");

Tensor add_ones(const Operand& x, const Ints& axes, std::string_view name) {
  return add_tensor(expand_dims_def, {x}, {.name = name, .attributes = {{"axes", axes}}});
}
Tensor remove_ones(const Operand& x, const Ints& axes, std::string_view name) {
  return add_tensor(squeeze_def, {x}, {.name = name, .attributes = {{"axes", axes}}});
}

}  // namespace

Tensor reshape(const Operand& x, const Sizes& shape, std::string_view name) {
  if (const std::optional<Ints> known = shape.numbers())
    return add_tensor(reshape_def, {x}, {.name = name, .attributes = {{"shape", Shape(std::span(*known))}}});
  const LocationScope location(x.where());
  return reshape_like(x, of_shape(complete_sizes(x.tensor(), shape, "reshape"), "reshape"), name);
}

Tensor broadcast_to(const Operand& x, const Sizes& shape, std::string_view name) {
  const LocationScope location(x.where());
  return broadcast_like(x, of_shape(shape, "broadcast_to"), name);
}

Tensor batch_flatten(const Operand& x, std::string_view name) {
  return add_tensor(batch_flatten_def, {x}, {.name = name});
}

Tensor expand_dims(const Operand& x, const Ints& axes, std::string_view name) {
  return add_ones(x, normalize_axes(x, axes, x.tensor().rank() + static_cast<int>(axes.size()), "expand_dims"), name);
}

Tensor squeeze(const Operand& x, const Ints& axes, std::string_view name) {
  const Shape& shape = x.tensor().shape();
  Ints removed = normalize_axes(x, axes, shape.rank(), "squeeze");
  if (axes.empty()) {
    BELFRY_CHECK(
        shape.is_concrete(),
        "[squeeze] expected axes, got none for '{}' {}, whose unknown dimensions may be 1. Name the axes (made at {}).",
        x.tensor().name(), to_string(shape), to_string(current_location(x.where())));
    for (int i = 0; i < shape.rank(); ++i)
      if (shape[i] == 1) removed.push_back(i);
  }
  return remove_ones(x, removed, name);
}

Tensor transpose(const Operand& x, const Ints& permutation, std::string_view name) {
  const int rank = x.tensor().rank();
  normalize_axes(x, permutation, rank, "transpose");
  Ints order;
  for (std::int64_t axis : permutation) order.push_back(axis < 0 ? axis + rank : axis);
  for (int i = rank - 1; permutation.empty() && i >= 0; --i) order.push_back(i);
  return add_tensor(transpose_def, {x}, {.name = name, .attributes = {{"perm", order}}});
}

}  // namespace belfry
