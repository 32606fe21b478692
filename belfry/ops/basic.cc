#include "belfry/ops/basic.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/state_ops.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/internal/known_ints.h"
#include "belfry/ops/internal/of_shape.h"

namespace belfry {
namespace {

Shapes same_shape(const ShapeContext& c) { return c.input(0); }

const OpRegistration placeholder_def =
    define_op("Placeholder")
        .output("value")
        .shape([](const ShapeContext& c) { return c.attributes().get<Shape>("shape"); })
        .dtype([](const ShapeContext& c) { return std::vector{c.attributes().get<DType>("dtype")}; })
        .must_be_fed()
        .not_differentiable()
        .doc("A value that every run has to feed.");

const OpRegistration identity_def = define_op("Identity")
                                        .input("x")
                                        .output("y")
                                        .ints(same_ints)
                                        .shape(same_shape)
                                        .gradient([](const GradientContext& c) { return Tensors{c.grad()}; })
                                        .keeps_elements()
                                        .forwards()
                                        .doc("The same value under another name.");

const OpRegistration stop_gradient_def = define_op("StopGradient")
                                             .input("x")
                                             .output("y")
                                             .ints(same_ints)
                                             .shape(same_shape)
                                             .not_differentiable()
                                             .keeps_elements()
                                             .forwards()
                                             .doc("The same value, through which no gradient flows.");

const OpRegistration no_op_def = define_op("NoOp").not_differentiable().side_effect().silent().doc(
    "Does nothing; done when its control inputs are.");

const OpRegistration cast_def =
    define_op("Cast")
        .input("x")
        .output("y")
        .ints(same_ints)
        .shape(same_shape)
        .dtype([](const ShapeContext& c) { return std::vector{c.attributes().get<DType>("dtype")}; })
        .gradient([](const GradientContext& c) {
          const DType from = c.input(0).dtype();
          return Tensors{is_float(from) && is_float(c.output().dtype()) ? cast(c.grad(), from) : Tensor()};
        })
        .forwards_if_same()
        .doc(
            "The elements in another type. Floats become integers by rounding towards zero and clamping to the type's "
            "range, NaN becomes 0; integers keep their low bits; anything but 0 is true.");

const OpRegistration fill_def =
    define_op("Fill")
        .output("value")
        .shape([](const ShapeContext& c) { return c.attributes().get<Shape>("shape"); })
        .dtype([](const ShapeContext& c) { return std::vector{c.attributes().get<DType>("dtype")}; })
        .not_differentiable()
        .doc("The same number everywhere.");

const OpRegistration fill_like_def =
    define_op("FillLike")
        .input("like")
        .output("value")
        .shape_only(0)
        .shape([](const ShapeContext& c) { return c.input(0); })
        .dtype([](const ShapeContext& c) { return std::vector{c.attributes().get<DType>("dtype")}; })
        .not_differentiable()
        .doc("The same number everywhere, in the shape of another tensor.");

// Its value is the default; a feed replaces the op.
const OpRegistration placeholder_with_default_def =
    define_op("PlaceholderWithDefault")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          const Shape& wanted = c.attributes().get<Shape>("shape");
          BELFRY_CHECK(compatible(c.input(0), wanted), "expected a default that fits {}, got {}", to_string(wanted),
                       to_string(c.input(0)));
          return wanted;
        })
        .gradient([](const GradientContext& c) { return Tensors{c.grad()}; })
        .keeps_elements()
        .forwards()
        .doc("A value that a run may feed.");

}  // namespace

Tensor fill(const Sizes& shape, double value, DType dtype, std::string_view name, const Location& where) {
  const LocationScope location(where);
  Attributes attributes{{"dtype", dtype}, {"value", value}};
  const std::optional<Ints> fixed = shape.numbers();
  if (!fixed)
    return add_tensor(fill_like_def, {of_shape(shape, "fill")}, {.name = name, .attributes = std::move(attributes)});
  const Shape known(std::span{*fixed});
  BELFRY_CHECK(known.is_concrete(),
               "[fill] expected a shape without unknown dimensions, got {} (made at {}). Take what is unknown from a "
               "tensor: shape_of(x), or {{size_of(x, 0), ...}}.",
               to_string(known), to_string(where));
  attributes.set("shape", known);
  return add_tensor(fill_def, {}, {.name = name, .attributes = std::move(attributes)});
}
Tensor zeros(const Sizes& shape, DType dtype, std::string_view name, const Location& where) {
  return fill(shape, 0, dtype, name, where);
}
Tensor ones(const Sizes& shape, DType dtype, std::string_view name, const Location& where) {
  return fill(shape, 1, dtype, name, where);
}

Tensor constant(const Array& value, std::string_view name, const Location& where) {
  const LocationScope location(where);
  return add_tensor(constant_op(), {}, {.name = name, .attributes = {{"value", value.clone()}}});
}

Tensor placeholder(DType dtype, const Shape& shape, std::string_view name, const Location& where) {
  const LocationScope location(where);
  return add_tensor(placeholder_def, {}, {.name = name, .attributes = {{"dtype", dtype}, {"shape", shape}}});
}
Tensor placeholder(const TensorSpec& spec, const Location& where) {
  return placeholder(spec.dtype, spec.shape, spec.name, where);
}

Tensor placeholder_with_default(const Operand& x, const Shape& shape, std::string_view name) {
  return add_tensor(placeholder_with_default_def, {x}, {.name = name, .attributes = {{"shape", shape}}});
}

Tensor identity(const Operand& x, std::string_view name) { return add_tensor(identity_def, {x}, {.name = name}); }
Tensor stop_gradient(const Operand& x, std::string_view name) {
  return add_tensor(stop_gradient_def, {x}, {.name = name});
}

Operation group(const std::vector<Operation>& operations, std::string_view name, const Location& where) {
  const LocationScope location(where);
  const ControlDependencies after(operations, where);
  return Operation(add_op(no_op_def, {}, {.name = name}));
}

Tensor cast(const Operand& x, DType dtype, std::string_view name) {
  if (name.empty() && !x.is_number() && x.tensor().dtype() == dtype) return x.tensor();
  return add_tensor(cast_def, {x}, {.name = name, .attributes = {{"dtype", dtype}}});
}

}  // namespace belfry
