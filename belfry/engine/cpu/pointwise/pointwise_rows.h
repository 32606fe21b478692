// The pointwise ops: one row each; nothing else lists them. (An op's meaning and gradient are in belfry/ops.) A row has
//   - its name in the graph;
//   - which operands have to be 0 for the result to be 0: padding then stays 0 by itself;
//   - its scalar form, of which kernels for all types are made, with NumPy's broadcasting;
//   - its vector form, on f32: an instruction of fused chains. Bools are 0 and 1 there.
// Files that are compiled for each instruction set see the rows among that set's vector functions and make only the
// vector forms; all others make only the scalar ones.
#pragma once

#include <cmath>
#include <cstddef>

#include "belfry/engine/cpu/fuse/pointwise_program.h"
#ifdef BELFRY_ISA
#include "belfry/engine/cpu/pointwise/vector_forms.h"
#else
#include "belfry/engine/cpu/pointwise/scalar_forms.h"
#endif

namespace belfry {
struct Numbers;  // types of elements: kernel_dispatch.h
struct Floats;
}  // namespace belfry

#ifdef BELFRY_ISA
namespace belfry::BELFRY_ISA::pointwise_rows {
#else
namespace belfry::pointwise_rows {
#endif
namespace {

// How kernels are made of the scalar form.
enum class RowKind {
  unary,       // y = f(x) of one type
  binary,      // y = f(a, b) of one type
  comparison,  // a bool from two of any type
  connective,  // of two bools
  test,        // a bool from a float
  in_double,   // f64 by f, which is given two numbers; f32 only by the vector form
  separate     // a separate kernel, elsewhere
};

template <RowKind row_kind, class ElementTypes, int source_count, bool with_value, class ScalarForm, class VectorForm>
struct PointwiseRow {
  static constexpr RowKind kind = row_kind;
  static constexpr int sources = source_count;
  static constexpr bool takes_value = with_value;  // the attribute "alpha" is the vector form's last argument
  using Types = ElementTypes;
  using Vector = VectorForm;
  const char* name = "";
  ZeroIf zero_if = ZeroIf::never;
  ScalarForm scalar{};
  VectorForm vector{};
};

template <class Types, class F, class V>
constexpr auto unary(const char* name, ZeroIf zero, F scalar, V vector) {
  return PointwiseRow<RowKind::unary, Types, 1, false, F, V>{name, zero, scalar, vector};
}
template <class Types, class F, class V>
constexpr auto binary(const char* name, ZeroIf zero, F scalar, V vector) {
  return PointwiseRow<RowKind::binary, Types, 2, false, F, V>{name, zero, scalar, vector};
}
template <class F, class V>
constexpr auto comparison(const char* name, F scalar, V vector) {
  return PointwiseRow<RowKind::comparison, void, 2, false, F, V>{name, ZeroIf::never, scalar, vector};
}
template <class F, class V>
constexpr auto connective(const char* name, ZeroIf zero, F scalar, V vector) {
  return PointwiseRow<RowKind::connective, void, 2, false, F, V>{name, zero, scalar, vector};
}
template <class F, class V>
constexpr auto test(const char* name, F scalar, V vector) {
  return PointwiseRow<RowKind::test, Floats, 1, false, F, V>{name, ZeroIf::never, scalar, vector};
}
template <int sources, class F, class V>
constexpr auto in_double(const char* name, ZeroIf zero, F scalar, V vector) {
  return PointwiseRow<RowKind::in_double, Floats, sources, false, F, V>{name, zero, scalar, vector};
}
template <int sources, bool takes_value = false, class V>
constexpr auto separate(const char* name, ZeroIf zero, V vector) {
  return PointwiseRow<RowKind::separate, void, sources, takes_value, std::nullptr_t, V>{name, zero, nullptr, vector};
}

// A row's number, counted from 0, is its PointwiseOp.
template <class... Row>
struct PointwiseRows : Row... {};
template <class... Row>
PointwiseRows(Row...) -> PointwiseRows<Row...>;

using enum ZeroIf;

// clang-format off
constexpr PointwiseRows kPointwiseRows{
    // Integers wrap around, as NumPy's do; NaN in any operand is kept.
    unary<Numbers>("Neg", a, [](auto x) { return wrapping_negative(x); }, [](auto x) { return negate(x); }),
    unary<Numbers>("Abs", a, [](auto x) { return magnitude(x); }, [](auto x) { return abs(x); }),
    unary<Numbers>("Sign", a, [](auto x) { return sign_of(x); }, [](auto x) { return sign(x); }),
    unary<Numbers>("Square", a, [](auto x) { return wrapping_product(x, x); }, [](auto x) { return x * x; }),
    unary<Floats>("Sqrt", a, [](auto x) { return std::sqrt(x); }, [](auto x) { return sqrt(x); }),
    unary<Floats>("Rsqrt", never, [](auto x) { return 1 / std::sqrt(x); }, [](auto x) { return rsqrt(x); }),
    unary<Floats>("Reciprocal", never, [](auto x) { return 1 / x; }, [](auto x) { return 1.f / x; }),
    unary<Floats>("Exp", never, [](auto x) { return std::exp(x); }, [](auto x) { return exp(x); }),
    unary<Floats>("Expm1", a, [](auto x) { return std::expm1(x); }, [](auto x) { return expm1(x); }),
    unary<Floats>("Log", never, [](auto x) { return std::log(x); }, [](auto x) { return log(x); }),
    unary<Floats>("Log1p", a, [](auto x) { return std::log1p(x); }, [](auto x) { return log1p(x); }),
    unary<Floats>("Tanh", a, [](auto x) { return std::tanh(x); }, [](auto x) { return tanh(x); }),
    unary<Floats>("Sigmoid", never, [](auto x) { return sigmoid_of(x); }, [](auto x) { return sigmoid(x); }),
    unary<Floats>("Sin", a, [](auto x) { return std::sin(x); }, [](auto x) { return sin(x); }),
    unary<Floats>("Cos", never, [](auto x) { return std::cos(x); }, [](auto x) { return cos(x); }),
    unary<Floats>("Floor", a, [](auto x) { return std::floor(x); }, [](auto x) { return floor(x); }),
    unary<Floats>("Ceil", a, [](auto x) { return std::ceil(x); }, [](auto x) { return ceil(x); }),
    unary<Floats>("Round", a, [](auto x) { return std::nearbyint(x); }, [](auto x) { return round(x); }),
    in_double<1>("Erf", a, [](auto x, auto) { return std::erf(x); }, [](auto x) { return erf(x); }),

    unary<Numbers>("Relu", a, [](auto x) { return x < 0 ? decltype(x){0} : x; },
                   [](auto x) { return larger(decltype(x){}, x); }),
    unary<Floats>("Softplus", never, [](auto x) { return softplus_of(x); }, [](auto x) { return softplus(x); }),
    unary<Floats>("Elu", a, [](auto x) { return x > 0 ? x : std::expm1(x); }, [](auto x) { return elu(x); }),
    unary<Floats>("Selu", a, [](auto x) { return selu_of(x); }, [](auto x) { return selu(x); }),
    unary<Floats>("Swish", a, [](auto x) { return swish_of(x); }, [](auto x) { return swish(x); }),
    in_double<1>("Gelu", a, [](auto x, auto) { return gelu_of(x); }, [](auto x) { return gelu(x); }),
    separate<1, true>("LeakyRelu", a, [](auto x, auto slope) { return select(x > 0.f, x, x * slope); }),
    binary<Floats>("Prelu", ab, [](auto x, auto slope) { return x > 0 ? x : x * slope; },
                   [](auto x, auto slope) { return select(x > 0.f, x, x * slope); }),
    // Their gradients, of dy and x (of relu's, y will do).
    binary<Floats>("ReluGrad", a, [](auto dy, auto y) { return y > 0 ? dy : decltype(dy){0}; },
                   [](auto dy, auto y) { return select(y > 0.f, dy, decltype(dy){}); }),
    separate<2, true>("LeakyReluGrad", a, [](auto dy, auto x, auto slope) { return select(x > 0.f, dy, dy * slope); }),
    in_double<2>("GeluGrad", a, [](auto dy, auto x) { return dy * gelu_slope_of(x); },
                 [](auto dy, auto x) { return dy * gelu_slope(x); }),

    // 0 times a number that may be infinite is not 0.
    binary<Numbers>("Add", ab, [](auto x, auto y) { return wrapping_sum(x, y); }, [](auto x, auto y) { return x + y; }),
    binary<Numbers>("Sub", ab, [](auto x, auto y) { return wrapping_difference(x, y); },
                    [](auto x, auto y) { return x - y; }),
    binary<Numbers>("Mul", ab, [](auto x, auto y) { return wrapping_product(x, y); },
                    [](auto x, auto y) { return x * y; }),
    binary<Numbers>("Div", never, [](auto x, auto y) { return quotient(x, y); }, [](auto x, auto y) { return x / y; }),
    binary<Numbers>("FloorDiv", never, [](auto x, auto y) { return floor_quotient(x, y); },
                    [](auto x, auto y) { return floor(x / y); }),
    binary<Numbers>("Mod", never, [](auto x, auto y) { return floor_remainder(x, y); },
                    [](auto x, auto y) { return mod(x, y); }),
    binary<Numbers>("Pow", never, [](auto x, auto y) { return power(x, y); }, [](auto x, auto y) { return pow(x, y); }),
    binary<Numbers>("Maximum", ab, [](auto x, auto y) { return x > y || x != x ? x : y; },
                    [](auto x, auto y) { return nan_max(x, y); }),
    binary<Numbers>("Minimum", ab, [](auto x, auto y) { return x < y || x != x ? x : y; },
                    [](auto x, auto y) { return nan_min(x, y); }),
    separate<3>("ClipByValue", never, [](auto x, auto low, auto high) { return nan_min(nan_max(x, low), high); }),

    comparison("Equal", [](auto x, auto y) { return x == y; }, [](auto x, auto y) { return one_if(x == y); }),
    comparison("NotEqual", [](auto x, auto y) { return x != y; }, [](auto x, auto y) { return one_if(x != y); }),
    comparison("Less", [](auto x, auto y) { return x < y; }, [](auto x, auto y) { return one_if(x < y); }),
    comparison("LessEqual", [](auto x, auto y) { return x <= y; }, [](auto x, auto y) { return one_if(x <= y); }),
    comparison("Greater", [](auto x, auto y) { return x > y; }, [](auto x, auto y) { return one_if(x > y); }),
    comparison("GreaterEqual", [](auto x, auto y) { return x >= y; }, [](auto x, auto y) { return one_if(x >= y); }),
    connective("LogicalAnd", ab, [](auto x, auto y) { return x && y; }, [](auto x, auto y) { return x * y; }),
    connective("LogicalOr", ab, [](auto x, auto y) { return x || y; }, [](auto x, auto y) { return nan_max(x, y); }),
    connective("LogicalXor", never, [](auto x, auto y) { return x != y; },
               [](auto x, auto y) { return one_if(x != y); }),
    separate<1>("LogicalNot", never, [](auto x) { return one_if(x == 0.f); }),
    separate<3>("Select", bc, [](auto which, auto x, auto y) { return select(which != 0.f, x, y); }),
    separate<1>("Cast", a, [](auto x) { return x; }),  // between f32 and bool
    test("IsNan", [](auto x) { return std::isnan(x); }, [](auto x) { return one_if(x != x); }),
    test("IsInf", [](auto x) { return std::isinf(x); }, [](auto x) { return one_if(abs(x) == __builtin_inff()); }),
    test("IsFinite", [](auto x) { return std::isfinite(x); }, [](auto x) { return one_if(abs(x) < __builtin_inff()); }),
};
// clang-format on

}  // namespace
}  // namespace pointwise_rows
