// Tensors joined along an axis, and one taken apart.
#include <algorithm>
#include <numeric>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

int axis_of(const Attributes& attributes) { return static_cast<int>(attributes.integer("axis")); }

// The gradients of an op's outputs, zeros where none arrived.
Tensors all_grads(const GradientContext& c) {
  Tensors out;
  for (int i = 0; i < static_cast<int>(c.node()->outputs.size()); ++i)
    out.push_back(c.has_grad(i) ? c.grad(i) : zeros_like(c.output(i)));
  return out;
}

// The shape of inputs `first` to the last joined.
Shape concat_rule(const ShapeContext& c, int first) {
  const int axis = axis_of(c.attributes());
  BELFRY_CHECK(c.inputs() > first, "expected at least one tensor, got none");
  Shape out = c.input(first);
  std::int64_t total = 0;
  for (int i = first; i < c.inputs(); ++i) {
    Shape same = c.input(i);
    BELFRY_CHECK(c.dtype(i) == c.dtype(first), "expected tensors of one type, got {} and {}. Use cast()",
                 name_of(c.dtype(first)), name_of(c.dtype(i)));
    BELFRY_CHECK(same.rank() == out.rank(),
                 "expected tensors of one rank, got {} and {}. Use expand_dims() or reshape()",
                 to_string(c.input(first)), to_string(same));
    const std::int64_t size = same[axis];
    total = total == kAny || size == kAny ? kAny : total + size;
    same.set(axis, out[axis]);
    BELFRY_CHECK(
        compatible(out, same),
        "expected dimensions that agree except along axis {}, got {} and {}. Use another axis, or slice() or pad()",
        axis, to_string(c.input(first)), to_string(c.input(i)));
    out = merge(out, same);
  }
  out.set(axis, total);
  return out;
}

// Of vectors.
KnownInts concat_ints(const ShapeContext& c) {
  KnownInts out;
  for (int i = 0; i < c.inputs(); ++i) {
    if (c.input(i).rank() != 1 || !c.input(i).is_concrete()) return {};
    KnownInts piece = c.ints(i);
    piece.resize(static_cast<std::size_t>(c.input(i)[0]));
    out.insert(out.end(), piece.begin(), piece.end());
  }
  return out;
}

Tensors concat_grad(const Tensor& dy, const Tensors& inputs, std::int64_t axis);

const OpRegistration concat_def = define_op("Concat")
                                      .inputs("tensors")
                                      .output("y")
                                      .shape([](const ShapeContext& c) { return concat_rule(c, 0); })
                                      .ints(concat_ints)
                                      .gradient([](const GradientContext& c) {
                                        return concat_grad(c.grad(), c.node()->inputs, c.attributes().integer("axis"));
                                      })
                                      .doc("Tensors joined along an axis.");

const OpRegistration concat_grad_def =
    define_op("ConcatGrad")
        .input("dy")
        .inputs("tensors")
        .output("dx")
        .shape_only(1)
        .shape([](const ShapeContext& c) {
          const Shape whole = concat_rule(c, 1);
          BELFRY_CHECK(compatible(whole, c.input(0)), "expected a gradient of shape {}, got {}", to_string(whole),
                       to_string(c.input(0)));
          Shapes out;
          for (int i = 1; i < c.inputs(); ++i) out.push_back(c.input(i));
          return out;
        })
        .gradient([](const GradientContext& c) {
          Tensors out(static_cast<std::size_t>(c.inputs()));
          out[0] = concat(all_grads(c), axis_of(c.attributes()));
          return out;
        })
        .doc("The gradient of Concat: dy taken apart by the tensors' shapes.");

// Sizes that are known make it a Split, which does not need the inputs.
Tensors concat_grad(const Tensor& dy, const Tensors& inputs, std::int64_t axis) {
  Ints sizes;
  for (const Tensor& t : inputs) sizes.push_back(t.shape()[static_cast<int>(axis)]);
  if (std::ranges::find(sizes, kAny) == sizes.end()) return split(dy, sizes, static_cast<int>(axis));
  std::vector<Operand> all{dy};
  all.insert(all.end(), inputs.begin(), inputs.end());
  return add_tensors(concat_grad_def, all, {.attributes = {{"axis", axis}}});
}

const OpRegistration split_def =
    define_op("Split")
        .input("x")
        .output("pieces")
        .shape([](const ShapeContext& c) {
          const int axis = axis_of(c.attributes());
          const std::int64_t whole = c.input(0)[axis], parts = c.attributes().get_or<std::int64_t>("parts", 0);
          Ints sizes = c.attributes().get<Ints>("sizes");
          if (parts > 0) {
            BELFRY_CHECK(whole == kAny || whole % parts == 0,
                         "expected a dimension that divides into {} equal parts, got {} along axis {} of {}. Use "
                         "split() with the pieces' sizes",
                         parts, whole, axis, to_string(c.input(0)));
            sizes.assign(static_cast<std::size_t>(parts), whole == kAny ? kAny : whole / parts);
          } else {
            const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
            BELFRY_CHECK(whole == kAny || total == whole,
                         "expected sizes that add up to {} along axis {} of {}, got {}. For equal parts, give their "
                         "number instead",
                         whole, axis, to_string(c.input(0)), total);
          }
          Shapes out;
          for (std::int64_t size : sizes) {
            out.push_back(c.input(0));
            out.back().set(axis, size);
          }
          return out;
        })
        .gradient([](const GradientContext& c) { return Tensors{concat(all_grads(c), axis_of(c.attributes()))}; })
        .doc("A tensor cut into pieces along an axis.");

Tensors split_outputs(const Operand& x, Attributes attributes, std::string_view name) {
  return add_tensors(split_def, {x}, {.name = name, .attributes = std::move(attributes)});
}

}  // namespace

Tensor concat(const std::vector<Operand>& tensors, int axis, std::string_view name) {
  BELFRY_CHECK(!tensors.empty(), "[concat] expected at least one tensor, got none");
  const std::int64_t positive = normalize_axis(tensors[0], axis, tensors[0].tensor().rank(), "concat");
  return add_tensor(concat_def, tensors, {.name = name, .attributes = {{"axis", positive}}});
}

Tensors split(const Operand& x, const Ints& sizes, int axis, std::string_view name) {
  const std::int64_t positive = normalize_axis(x, axis, x.tensor().rank(), "split");
  return split_outputs(x, {{"axis", positive}, {"sizes", sizes}}, name);
}
Tensors split_evenly(const Operand& x, std::int64_t parts, int axis, std::string_view name) {
  BELFRY_CHECK(parts > 0, "[split] expected one part or more, got {} (made at {})", parts,
               to_string(current_location(x.where())));
  const std::int64_t positive = normalize_axis(x, axis, x.tensor().rank(), "split");
  return split_outputs(x, {{"axis", positive}, {"sizes", Ints{}}, {"parts", parts}}, name);
}

}  // namespace belfry
