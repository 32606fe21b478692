#include "belfry/ops/update_slice.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/internal/box_at.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

// Inputs: the whole, the part, and where it begins.
Shape whole_rule(const ShapeContext& c) {
  const Shape &x = c.input(0), &part = c.input(1);
  BELFRY_CHECK(c.dtype(1) == c.dtype(0), "expected a part of type {}, got {}. Use cast()", name_of(c.dtype(0)),
               name_of(c.dtype(1)));
  check_one_each(c, 2, "begin");
  bool fits = part.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = x[i] == kAny || part[i] == kAny || part[i] <= x[i];
  BELFRY_CHECK(fits, "expected a part that fits into {}, got {}", to_string(x), to_string(part));
  return x;
}

Tensor add_update(const Operand& x, const Operand& part, const Tensor& begin, OpOptions options = {});

const OpRegistration update_slice_def =
    define_op("UpdateSlice")
        .input("x")
        .input("part")
        .input("begin")
        .output("y")
        .shape(whole_rule)
        .gradient([](const GradientContext& c) {
          const Tensor part = c.input(1), begin = c.input(2);
          return Tensors{add_update(c.grad(), zeros_like(part), begin), slice_at(c.grad(), begin, part), Tensor()};
        })
        .doc("A tensor with a box overwritten at a place that a run computes.");

const OpRegistration assign_slice_def = define_op("AssignSlice")
                                            .input("variable")
                                            .input("part")
                                            .input("begin")
                                            .output("new_value")
                                            .shape(whole_rule)
                                            .updates(0)
                                            .not_differentiable()
                                            .doc("Writes a box of a variable and gives the variable's new value.");

Tensor add_update(const Operand& x, const Operand& part, const Tensor& begin, OpOptions options) {
  return add_tensor(update_slice_def, {x, part, begin}, std::move(options));
}

OpOptions op_options(std::string_view name, const UpdateSliceOptions& options) {
  OpOptions out{.name = name};
  if (!options.remedy.empty()) out.attributes.set("remedy", ". " + options.remedy);
  return out;
}

}  // namespace

Tensor update_slice(const Operand& x, const Operand& part, const Sizes& begin, std::string_view name,
                    const UpdateSliceOptions& options) {
  return add_update(x, part, begin.tensor("update_slice"), op_options(name, options));
}

Tensor assign_slice(const Variable& variable, const Operand& part, const Sizes& begin, std::string_view name,
                    const UpdateSliceOptions& options) {
  return add_tensor(assign_slice_def, {Operand(variable.handle(), part.where()), part, begin.tensor("assign_slice")},
                    op_options(name, options));
}

}  // namespace belfry
