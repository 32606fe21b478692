#include "belfry/ops/activation.h"

#include "belfry/graph/graph.h"
#include "belfry/ops/internal/activation_constants.h"
#include "belfry/ops/internal/pointwise_def.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

using T = const Tensor&;
using enum Elements;

const OpRegistration softplus_def =
    define_unary("Softplus", floats, "log(1 + e^x)", [](T dy, T x, T) { return dy * sigmoid(x); });
// Below 0 the derivative is e^x = y + 1.
const OpRegistration elu_def = define_unary("Elu", floats, "x above 0, else e^x - 1",
                                            [](T dy, T x, T y) { return select(greater(x, 0.f), dy, dy * (y + 1.f)); });
// Below 0 the derivative is scale alpha e^x = y + scale alpha.
const OpRegistration selu_def =
    define_unary("Selu", floats, "The activation of self-normalising networks.",
                 [](T dy, T x, T y) { return dy * select(greater(x, 0.f), kSeluScale, y + kSeluScale * kSeluAlpha); });
// With s = sigmoid(x): dy (s + x s (1 - s)). Made from x, so that s need not be kept.
const OpRegistration swish_def = define_unary("Swish", floats, "x sigmoid(x)", [](T dy, T x, T) {
  const Tensor s = sigmoid(x);
  return dy * s * (1.f + x * (1.f - s));
});
const OpRegistration prelu_def = define_binary("Prelu", floats, "x above 0, else slope * x", [](T dy, T x, T slope, T) {
  const Tensor above = greater(x, 0.f);
  return std::pair{select(above, dy, dy * slope), select(above, 0.f, dy * x)};
});

}  // namespace

Tensor softplus(const Operand& x, std::string_view name) { return add_tensor(softplus_def, {x}, {.name = name}); }
Tensor elu(const Operand& x, std::string_view name) { return add_tensor(elu_def, {x}, {.name = name}); }
Tensor selu(const Operand& x, std::string_view name) { return add_tensor(selu_def, {x}, {.name = name}); }
Tensor swish(const Operand& x, std::string_view name) { return add_tensor(swish_def, {x}, {.name = name}); }
Tensor prelu(const Operand& x, const Operand& slope, std::string_view name) {
  return add_tensor(prelu_def, {x, slope}, {.name = name});
}

}  // namespace belfry
