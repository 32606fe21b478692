#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/internal/pointwise_def.h"
#include "belfry/ops/logic.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

using T = const Tensor&;
using enum Elements;
using Pair = std::pair<Tensor, Tensor>;

// The gradient of an extreme: it goes to a where a is chosen, and to b elsewhere.
Pair to_chosen(T dy, T chooses_a) { return {select(chooses_a, dy, 0.f), select(chooses_a, 0.f, dy)}; }

const OpRegistration add_def =
    define_binary("Add", numbers, "a + b", [](T dy, T, T, T) { return Pair{dy, dy}; }, int_sum).neutral(0);
const OpRegistration sub_def = define_binary(
                                   "Sub", numbers, "a - b", [](T dy, T, T, T) { return Pair{dy, -dy}; }, int_difference)
                                   .right_neutral(0);
const OpRegistration mul_def =
    define_binary(
        "Mul", numbers, "a * b", [](T dy, T a, T b, T) { return Pair{dy * b, dy * a}; }, int_product)
        .neutral(1);
// d(a/b)/db = -a/b^2 = -y/b
const OpRegistration div_def =
    define_binary(
        "Div", numbers, "a / b", [](T dy, T, T b, T y) { return Pair{dy / b, -(dy * y / b)}; }, int_quotient)
        .right_neutral(1);
// A tie sends the whole gradient to a.
const OpRegistration max_def = define_binary(
    "Maximum", numbers, "The larger of a and b.", [](T dy, T a, T b, T) { return to_chosen(dy, greater_equal(a, b)); },
    int_maximum);
const OpRegistration min_def = define_binary(
    "Minimum", numbers, "The smaller of a and b.", [](T dy, T a, T b, T) { return to_chosen(dy, less_equal(a, b)); },
    int_minimum);
// d a^b/da = b a^(b-1), 0 where b is 0;  d a^b/db = a^b log a, 0 where a is 0
const OpRegistration pow_def = define_binary("Pow", numbers, "a to the b", [](T dy, T a, T b, T y) {
  const Tensor positive = greater(a, 0.f);
  const Tensor log_a = select(positive, log(select(positive, a, 1.f)), 0.f);
  return Pair{select(equal(b, 0.f), 0.f, dy * b * pow(a, b - 1.f)), dy * y * log_a};
});
const OpRegistration floordiv_def =
    define_binary("FloorDiv", numbers, "The largest integer not above a / b.", nullptr, int_floordiv);
const OpRegistration mod_def = define_binary(
    "Mod", numbers, "a - floor(a / b) * b: the remainder that has the sign of b.",
    [](T dy, T a, T b, T) { return Pair{dy, -(dy * floordiv(a, b))}; }, int_floormod);
const OpRegistration squared_difference_def =
    define_binary("SquaredDifference", numbers, "(a - b)^2", [](T dy, T a, T b, T) {
      const Tensor da = dy * (a - b) * 2.f;
      return Pair{da, -da};
    });

const OpRegistration equal_def = define_comparison("Equal", "a == b");
const OpRegistration not_equal_def = define_comparison("NotEqual", "a != b");
const OpRegistration less_def = define_comparison("Less", "a < b");
const OpRegistration less_equal_def = define_comparison("LessEqual", "a <= b");
const OpRegistration greater_def = define_comparison("Greater", "a > b");
const OpRegistration greater_equal_def = define_comparison("GreaterEqual", "a >= b");

const OpRegistration select_def =
    define_op("Select")
        .input("condition")
        .input("a")
        .input("b")
        .output("y")
        .shape([](const ShapeContext& c) {
          BELFRY_CHECK(c.dtype(0) == boolean, "expected a condition of type bool, got {}", name_of(c.dtype(0)));
          BELFRY_CHECK(c.dtype(1) == c.dtype(2), "expected two values of one type, got {} and {}. Use cast()",
                       name_of(c.dtype(1)), name_of(c.dtype(2)));
          return broadcast(c.input(0), broadcast(c.input(1), c.input(2)));
        })
        .dtype([](const ShapeContext& c) { return std::vector{c.dtype(1)}; })
        .gradient([](const GradientContext& c) {
          const Tensor condition = c.input(0), dy = c.grad();
          return Tensors{Tensor(), sum_to_like(select(condition, dy, 0.f), c.input(1)),
                         sum_to_like(select(condition, 0.f, dy), c.input(2))};
        })
        .doc("a where the condition holds, b elsewhere.");

// A value at a bound is inside: x takes its gradient.
const OpRegistration clip_def =
    define_op("ClipByValue")
        .input("x")
        .input("low")
        .input("high")
        .output("y")
        .shape([](const ShapeContext& c) {
          check_elements(c, 0, numbers);
          BELFRY_CHECK(c.dtype(1) == c.dtype(0) && c.dtype(2) == c.dtype(0),
                       "expected bounds of x's type {}, got {} and {}. Use cast()", name_of(c.dtype(0)),
                       name_of(c.dtype(1)), name_of(c.dtype(2)));
          return broadcast(c.input(0), broadcast(c.input(1), c.input(2)));
        })
        .gradient([](const GradientContext& c) {
          const Tensor x = c.input(0), low = c.input(1), high = c.input(2), dy = c.grad();
          const Tensor below = less(x, low), above = greater(x, high);
          return Tensors{sum_to_like(select(logical_or(below, above), 0.f, dy), x),
                         sum_to_like(select(below, dy, 0.f), low), sum_to_like(select(above, dy, 0.f), high)};
        })
        .doc("x, but low where it is below and high where it is above.");

Tensor binary(OpRegistration op, const Operand& a, const Operand& b, std::string_view name) {
  return add_tensor(op, {a, b}, {.name = name});
}

}  // namespace

Tensor add(const Operand& a, const Operand& b, std::string_view name) { return binary(add_def, a, b, name); }
Tensor subtract(const Operand& a, const Operand& b, std::string_view name) { return binary(sub_def, a, b, name); }
Tensor multiply(const Operand& a, const Operand& b, std::string_view name) { return binary(mul_def, a, b, name); }
Tensor divide(const Operand& a, const Operand& b, std::string_view name) { return binary(div_def, a, b, name); }
Tensor maximum(const Operand& a, const Operand& b, std::string_view name) { return binary(max_def, a, b, name); }
Tensor minimum(const Operand& a, const Operand& b, std::string_view name) { return binary(min_def, a, b, name); }
Tensor pow(const Operand& a, const Operand& b, std::string_view name) { return binary(pow_def, a, b, name); }
Tensor squared_difference(const Operand& a, const Operand& b, std::string_view name) {
  return binary(squared_difference_def, a, b, name);
}
Tensor floordiv(const Operand& a, const Operand& b, std::string_view name) { return binary(floordiv_def, a, b, name); }
Tensor floormod(const Operand& a, const Operand& b, std::string_view name) { return binary(mod_def, a, b, name); }
Tensor equal(const Operand& a, const Operand& b, std::string_view name) { return binary(equal_def, a, b, name); }
Tensor not_equal(const Operand& a, const Operand& b, std::string_view name) {
  return binary(not_equal_def, a, b, name);
}
Tensor less(const Operand& a, const Operand& b, std::string_view name) { return binary(less_def, a, b, name); }
Tensor less_equal(const Operand& a, const Operand& b, std::string_view name) {
  return binary(less_equal_def, a, b, name);
}
Tensor greater(const Operand& a, const Operand& b, std::string_view name) { return binary(greater_def, a, b, name); }
Tensor greater_equal(const Operand& a, const Operand& b, std::string_view name) {
  return binary(greater_equal_def, a, b, name);
}

Tensor select(const Operand& condition, const Operand& a, const Operand& b, std::string_view name) {
  // A number takes the type of the other value, not the condition's.
  const DType dtype = a.is_number() ? (b.is_number() ? f32 : b.tensor().dtype()) : a.tensor().dtype();
  return add_tensor(select_def, {condition, a.tensor(dtype), b.tensor(dtype)}, {.name = name});
}

Tensor clip_by_value(const Operand& x, const Operand& low, const Operand& high, std::string_view name) {
  return add_tensor(clip_def, {x, low, high}, {.name = name});
}

Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
Tensor operator-(const Operand& a, const Operand& b) { return subtract(a, b); }
Tensor operator*(const Operand& a, const Operand& b) { return multiply(a, b); }
Tensor operator/(const Operand& a, const Operand& b) { return divide(a, b); }

}  // namespace belfry
