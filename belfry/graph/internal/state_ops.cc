// Constants, variables and their assignments: the ops that the graph itself relies on.
#include "belfry/graph/internal/state_ops.h"

#include <cmath>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

const OpRegistration constant_def =
    define_op("Constant")
        .output("value")
        .ints([](const ShapeContext& c) {
          const Array& value = c.attributes().get<Array>("value");
          KnownInts out;
          for (std::int64_t i = 0; i < value.elements(); ++i)
            out.emplace_back(static_cast<std::int64_t>(value.item(i)));
          return out;
        })
        .shape([](const ShapeContext& c) { return c.attributes().get<Array>("value").shape(); })
        .dtype([](const ShapeContext& c) { return std::vector{c.attributes().get<Array>("value").dtype()}; })
        .standing()
        .not_differentiable()
        .doc("A value that is part of the graph.");

// The gradient of a variable arrives here and stops: it has no inputs to pass it to.
const OpRegistration variable_def =
    define_op("Variable")
        .output("value")
        .shape([](const ShapeContext& c) { return c.attributes().get<Shape>("shape"); })
        .dtype([](const ShapeContext& c) { return std::vector{c.attributes().get<DType>("dtype")}; })
        .variable()
        .not_differentiable()
        .doc("A value kept by the session between runs; reading it gives what it was when the run started.");

const OpRegistration read_def = define_op("ReadVariable")
                                    .input("variable")
                                    .output("value")
                                    .shape([](const ShapeContext& c) { return c.input(0); })
                                    .gradient([](const GradientContext& c) { return Tensors{c.grad()}; })
                                    .stateful()
                                    .doc("A variable's value after everything this read depends on.");

Shapes same_shape(const ShapeContext& c) {
  BELFRY_CHECK(c.dtype(0) == c.dtype(1), "expected a value of type {}, got {}", name_of(c.dtype(0)),
               name_of(c.dtype(1)));
  BELFRY_CHECK(compatible(c.input(0), c.input(1)), "expected a value of shape {}, got {}", to_string(c.input(0)),
               to_string(c.input(1)));
  return c.input(0);
}

Shapes same_numbers(const ShapeContext& c) {
  BELFRY_CHECK(is_float(c.dtype(0)) || c.dtype(0) == i32 || c.dtype(0) == i64,
               "expected a variable of f32, f64, i32 or i64, got {}. Use assign()", name_of(c.dtype(0)));
  return same_shape(c);
}

OpDefinition define_assignment(const char* name, ShapeRule rule, const char* doc) {
  return define_op(name)
      .input("variable")
      .input("value")
      .output("new_value")
      .shape(std::move(rule))
      .not_differentiable()
      .doc(doc);
}

const OpRegistration assign_def =
    define_assignment("Assign", same_shape, "Sets a variable and gives its new value.").overwrites(0);
const OpRegistration assign_add_def =
    define_assignment("AssignAdd", same_numbers, "Adds to a variable and gives its new value.").updates(0);
const OpRegistration assign_sub_def =
    define_assignment("AssignSub", same_numbers, "Subtracts from a variable and gives its new value.").updates(0);

}  // namespace

OpRegistration constant_op() { return constant_def; }
OpRegistration variable_op() { return variable_def; }
OpRegistration read_variable_op() { return read_def; }
OpRegistration assign_op() { return assign_def; }
OpRegistration assign_add_op() { return assign_add_def; }
OpRegistration assign_sub_op() { return assign_sub_def; }

void Operand::refuse_number() const {
  fail("[operand] expected a number of magnitude at most 2^53, got {:.0f} (at {}). Use constant().", number_,
       to_string(where_));
}

Tensor Operand::tensor(DType dtype) const {
  if (!is_number_) return tensor_;
  BELFRY_CHECK(is_float(dtype) || number_ == std::trunc(number_),
               "[operand] expected a whole number beside a tensor of {}, got {} (at {}). Use cast() on the tensor.",
               name_of(dtype), number_, to_string(where_));
  const Array value = Array::full(dtype, {}, number_);
  BELFRY_CHECK(
      is_float(dtype) || value.item() == number_,
      "[operand] expected a number that {} can hold beside a tensor of that type, got {} (at {}). Use cast() on "
      "the tensor.",
      name_of(dtype), number_, to_string(where_));
  const LocationScope location(where_);
  return add_tensor(constant_def, {}, {.attributes = {{"value", value}}});
}

// Glorot and Bengio's uniform bound for matrices and filters [..., in, out], zeros for the rest.
Initializer default_initializer() {
  return [](const Shape& shape, DType dtype) {
    if (!is_float(dtype) || shape.rank() < 2)
      return add_tensor(constant_def, {}, {.attributes = {{"value", Array::zeros(dtype, shape)}}});
    const std::int64_t spatial = shape.slice(0, shape.rank() - 2).elements();
    const double bound = std::sqrt(6.0 / static_cast<double>(spatial * (shape[-1] + shape[-2])));
    return add_tensor(find_op("RandomUniform"), {},
                      {.attributes = {{"shape", shape}, {"dtype", dtype}, {"low", -bound}, {"high", bound}}});
  };
}

}  // namespace belfry
