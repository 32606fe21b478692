#include "belfry/ops/check_numerics.h"

#include "belfry/graph/graph.h"
#include "belfry/ops/internal/input_checks.h"

namespace belfry {
namespace {

// A side effect: it runs even if only a control edge needs it, and it is not folded: the error belongs to the run.
const OpRegistration check_numerics_def = define_op("CheckNumerics")
                                              .input("x")
                                              .output("y")
                                              .side_effect()
                                              .shape([](const ShapeContext& c) {
                                                check_float(c, 0, "x");
                                                return c.input(0);
                                              })
                                              .gradient([](const GradientContext& c) { return Tensors{c.grad()}; })
                                              .doc("Passes x through; NaN or infinity in it is an error.");

}  // namespace

Tensor check_numerics(const Operand& x, std::string_view message, std::string_view name) {
  return add_tensor(check_numerics_def, {x}, {.name = name, .attributes = {{"message", std::string(message)}}});
}

}  // namespace belfry
