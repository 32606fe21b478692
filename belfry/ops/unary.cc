#include "belfry/graph/graph.h"
#include "belfry/ops/internal/pointwise_def.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

using T = const Tensor&;
using enum Elements;

const OpRegistration neg_op = define_unary("Neg", numbers, "-x", [](T dy, T, T) { return -dy; });
const OpRegistration abs_op = define_unary("Abs", numbers, "|x|", [](T dy, T x, T) { return dy * sign(x); });
const OpRegistration sign_op = define_unary("Sign", numbers, "-1, 0 or 1", nullptr);
const OpRegistration square_op = define_unary("Square", numbers, "x * x", [](T dy, T x, T) { return dy * x * 2.f; });
const OpRegistration sqrt_op = define_unary("Sqrt", floats, "Square root.", [](T dy, T, T y) { return dy * 0.5f / y; });
// d x^(-1/2) = -1/2 x^(-3/2) = -1/2 y^3
const OpRegistration rsqrt_op =
    define_unary("Rsqrt", floats, "1 / sqrt(x)", [](T dy, T, T y) { return dy * -0.5f * y * square(y); });
const OpRegistration reciprocal_op =
    define_unary("Reciprocal", floats, "1 / x", [](T dy, T, T y) { return -(dy * square(y)); });
const OpRegistration exp_op = define_unary("Exp", floats, "e to the x", [](T dy, T, T y) { return dy * y; });
const OpRegistration expm1_op =
    define_unary("Expm1", floats, "e^x - 1, exact near 0", [](T dy, T, T y) { return dy * (y + 1.f); });
const OpRegistration log_op = define_unary("Log", floats, "Natural logarithm.", [](T dy, T x, T) { return dy / x; });
const OpRegistration log1p_op =
    define_unary("Log1p", floats, "log(1 + x), exact near 0", [](T dy, T x, T) { return dy / (x + 1.f); });
const OpRegistration tanh_op =
    define_unary("Tanh", floats, "Hyperbolic tangent.", [](T dy, T, T y) { return dy * (1.f - square(y)); });
const OpRegistration sigmoid_op =
    define_unary("Sigmoid", floats, "1 / (1 + exp(-x))", [](T dy, T, T y) { return dy * y * (1.f - y); });
const OpRegistration sin_op =
    define_unary("Sin", floats, "Sine of an angle in radians.", [](T dy, T x, T) { return dy * cos(x); });
const OpRegistration cos_op =
    define_unary("Cos", floats, "Cosine of an angle in radians.", [](T dy, T x, T) { return -(dy * sin(x)); });
const OpRegistration floor_op = define_unary("Floor", floats, "The largest integer not above x.", nullptr);
const OpRegistration ceil_op = define_unary("Ceil", floats, "The smallest integer not below x.", nullptr);
const OpRegistration round_op = define_unary("Round", floats, "The nearest integer, halves to even.", nullptr);
const OpRegistration zeros_like_op =
    define_unary("ZerosLike", any, "Zeros in the shape of x.", nullptr).ignores_elements();
const OpRegistration ones_like_op =
    define_unary("OnesLike", any, "Ones in the shape of x.", nullptr).ignores_elements();

// dx = y > 0 ? dy : 0. A separate op, so that the engine can put it into a neighbour's pass over memory.
Tensor relu_grad(T dy, T y);
const OpRegistration relu_op =
    define_unary("Relu", numbers, "max(x, 0)", [](T dy, T, T y) { return relu_grad(dy, y); });
const OpRegistration relu_grad_op =
    define_op("ReluGrad")
        .input("dy")
        .input("y")
        .output("dx")
        .shape([](const ShapeContext& c) {
          check_one_float_type(c);
          return merge(c.input(0), c.input(1));
        })
        .gradient([](const GradientContext& c) { return Tensors{relu_grad(c.grad(), c.input(1)), Tensor()}; })
        .doc("The gradient of Relu: dy where y is above 0.");
Tensor relu_grad(T dy, T y) { return add_tensor(relu_grad_op, {dy, y}); }

Tensor unary(OpRegistration op, const Operand& x, std::string_view name) { return add_tensor(op, {x}, {.name = name}); }

}  // namespace

Tensor negative(const Operand& x, std::string_view name) { return unary(neg_op, x, name); }
Tensor abs(const Operand& x, std::string_view name) { return unary(abs_op, x, name); }
Tensor sign(const Operand& x, std::string_view name) { return unary(sign_op, x, name); }
Tensor square(const Operand& x, std::string_view name) { return unary(square_op, x, name); }
Tensor sqrt(const Operand& x, std::string_view name) { return unary(sqrt_op, x, name); }
Tensor rsqrt(const Operand& x, std::string_view name) { return unary(rsqrt_op, x, name); }
Tensor reciprocal(const Operand& x, std::string_view name) { return unary(reciprocal_op, x, name); }
Tensor exp(const Operand& x, std::string_view name) { return unary(exp_op, x, name); }
Tensor expm1(const Operand& x, std::string_view name) { return unary(expm1_op, x, name); }
Tensor log(const Operand& x, std::string_view name) { return unary(log_op, x, name); }
Tensor log1p(const Operand& x, std::string_view name) { return unary(log1p_op, x, name); }
Tensor tanh(const Operand& x, std::string_view name) { return unary(tanh_op, x, name); }
Tensor sigmoid(const Operand& x, std::string_view name) { return unary(sigmoid_op, x, name); }
Tensor sin(const Operand& x, std::string_view name) { return unary(sin_op, x, name); }
Tensor cos(const Operand& x, std::string_view name) { return unary(cos_op, x, name); }
Tensor floor(const Operand& x, std::string_view name) { return unary(floor_op, x, name); }
Tensor ceil(const Operand& x, std::string_view name) { return unary(ceil_op, x, name); }
Tensor round(const Operand& x, std::string_view name) { return unary(round_op, x, name); }
Tensor zeros_like(const Operand& x, std::string_view name) { return unary(zeros_like_op, x, name); }
Tensor ones_like(const Operand& x, std::string_view name) { return unary(ones_like_op, x, name); }
Tensor operator-(const Tensor& x) { return negative(x); }

const Activation relu{[](const Operand& x, std::string_view name) { return unary(relu_op, x, name); }};
const Activation identity_activation{[](const Operand& x, std::string_view) { return x.tensor(); }};

}  // namespace belfry
