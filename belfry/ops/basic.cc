#include "belfry/ops/basic.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/graph/state_ops.h"

namespace belfry {
namespace {

Shapes same_shape(const ShapeContext& c) { return c.input(0); }

const OpRegistration placeholder_def =
    define_op("Placeholder")
        .output("value")
        .shape([](const ShapeContext& c) { return c.attributes().get<Shape>("shape"); })
        .dtype([](const ShapeContext& c) { return std::vector{c.attributes().get<DType>("dtype")}; })
        .not_differentiable()
        .stateful()
        .doc("A value that every run has to feed.");

const OpRegistration identity_def = define_op("Identity")
                                        .input("x")
                                        .output("y")
                                        .shape(same_shape)
                                        .gradient([](const GradientContext& c) { return Tensors{c.grad()}; })
                                        .doc("The same value under another name.");

const OpRegistration stop_gradient_def = define_op("StopGradient")
                                             .input("x")
                                             .output("y")
                                             .shape(same_shape)
                                             .not_differentiable()
                                             .doc("The same value, through which no gradient flows.");

const OpRegistration no_op_def =
    define_op("NoOp").not_differentiable().side_effect().doc("Does nothing; done when its control inputs are.");

const OpRegistration cast_def =
    define_op("Cast")
        .input("x")
        .output("y")
        .shape(same_shape)
        .dtype([](const ShapeContext& c) { return std::vector{c.attributes().get<DType>("dtype")}; })
        .gradient([](const GradientContext& c) {
          const DType from = c.input(0).dtype();
          return Tensors{is_float(from) && is_float(c.output().dtype()) ? cast(c.grad(), from) : Tensor()};
        })
        .doc(
            "The elements in another type. Floats become integers towards zero, beyond the type's range its end, NaN "
            "0; integers keep their low bits; anything but 0 is true.");

const OpRegistration fill_def =
    define_op("Fill")
        .output("value")
        .shape([](const ShapeContext& c) { return c.attributes().get<Shape>("shape"); })
        .dtype([](const ShapeContext& c) { return std::vector{c.attributes().get<DType>("dtype")}; })
        .not_differentiable()
        .doc("The same number everywhere.");

}  // namespace

Tensor fill(const Shape& shape, double value, DType dtype, std::string_view name, const Location& where) {
  const LocationScope location(where);
  BELFRY_CHECK(shape.is_concrete(), "[fill] expected a shape without unknown dimensions, got {} (made at {})",
               to_string(shape), to_string(where));
  return add_tensor(fill_def, {}, {.name = name, .attributes = {{"shape", shape}, {"dtype", dtype}, {"value", value}}});
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
