// Ops that work element by element. Binary ones broadcast as NumPy does; a number takes the other operand's type.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

Tensor add(const Operand& a, const Operand& b, std::string_view name = "");
Tensor subtract(const Operand& a, const Operand& b, std::string_view name = "");
Tensor multiply(const Operand& a, const Operand& b, std::string_view name = "");
Tensor divide(const Operand& a, const Operand& b, std::string_view name = "");
Tensor maximum(const Operand& a, const Operand& b, std::string_view name = "");
Tensor minimum(const Operand& a, const Operand& b, std::string_view name = "");
Tensor pow(const Operand& a, const Operand& b, std::string_view name = "");
Tensor squared_difference(const Operand& a, const Operand& b, std::string_view name = "");
// floor(a / b) and the remainder, which has the sign of b. Integers divided by zero give 0.
Tensor floordiv(const Operand& a, const Operand& b, std::string_view name = "");
Tensor floormod(const Operand& a, const Operand& b, std::string_view name = "");
inline Tensor mod(const Operand& a, const Operand& b, std::string_view name = "") { return floormod(a, b, name); }
// min(max(x, low), high). The bounds are numbers or tensors that broadcast.
Tensor clip_by_value(const Operand& x, const Operand& low, const Operand& high, std::string_view name = "");

Tensor equal(const Operand& a, const Operand& b, std::string_view name = "");
Tensor not_equal(const Operand& a, const Operand& b, std::string_view name = "");
Tensor less(const Operand& a, const Operand& b, std::string_view name = "");
Tensor less_equal(const Operand& a, const Operand& b, std::string_view name = "");
Tensor greater(const Operand& a, const Operand& b, std::string_view name = "");
Tensor greater_equal(const Operand& a, const Operand& b, std::string_view name = "");
// a where the condition (bool) holds, b elsewhere; all three broadcast.
Tensor select(const Operand& condition, const Operand& a, const Operand& b, std::string_view name = "");
inline Tensor where(const Operand& condition, const Operand& a, const Operand& b, std::string_view name = "") {
  return select(condition, a, b, name);
}

Tensor negative(const Operand& x, std::string_view name = "");
Tensor abs(const Operand& x, std::string_view name = "");
Tensor sign(const Operand& x, std::string_view name = "");
Tensor square(const Operand& x, std::string_view name = "");
Tensor sqrt(const Operand& x, std::string_view name = "");
Tensor rsqrt(const Operand& x, std::string_view name = "");
Tensor reciprocal(const Operand& x, std::string_view name = "");
Tensor exp(const Operand& x, std::string_view name = "");
Tensor expm1(const Operand& x, std::string_view name = "");
Tensor log(const Operand& x, std::string_view name = "");
Tensor log1p(const Operand& x, std::string_view name = "");
Tensor tanh(const Operand& x, std::string_view name = "");
Tensor sigmoid(const Operand& x, std::string_view name = "");
Tensor sin(const Operand& x, std::string_view name = "");
Tensor cos(const Operand& x, std::string_view name = "");
Tensor floor(const Operand& x, std::string_view name = "");
Tensor ceil(const Operand& x, std::string_view name = "");
Tensor round(const Operand& x, std::string_view name = "");  // halves to even

// An activation is a function object, so that a layer can take one: {.activation = relu}.
struct Activation {
  Tensor (*apply)(const Operand& x, std::string_view name) = nullptr;
  Tensor operator()(const Operand& x, std::string_view name = "") const { return apply(x, name); }
  explicit operator bool() const { return apply != nullptr; }
};
extern const Activation relu;
extern const Activation identity_activation;

// Values that have the shape of another tensor, known when a step is fed.
Tensor zeros_like(const Operand& x, std::string_view name = "");
Tensor ones_like(const Operand& x, std::string_view name = "");

Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator-(const Tensor& x);
// Comparisons of values: less() and so on. (a == b compares the handles: equal() is the op.)
inline Tensor operator<(const Operand& a, const Operand& b) { return less(a, b); }
inline Tensor operator<=(const Operand& a, const Operand& b) { return less_equal(a, b); }
inline Tensor operator>(const Operand& a, const Operand& b) { return greater(a, b); }
inline Tensor operator>=(const Operand& a, const Operand& b) { return greater_equal(a, b); }

}  // namespace belfry
#pragma GCC visibility pop
