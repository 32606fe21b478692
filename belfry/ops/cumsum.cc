#include "belfry/ops/cumsum.h"

#include "belfry/graph/graph.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/internal/input_checks.h"

namespace belfry {
namespace {

Attributes attributes_of(std::int64_t axis, const CumsumOptions& options) {
  return {{"axis", axis}, {"exclusive", options.exclusive}, {"reverse", options.reverse}};
}

// An element is part of the sums from its own to the last: the gradient is the running sum from the other end.
const OpRegistration cumsum_def =
    define_op("CumSum")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          check_elements(c, 0, Elements::numbers);
          return c.input(0);
        })
        .gradient([](const GradientContext& c) {
          const Attributes& a = c.attributes();
          return Tensors{cumsum(c.grad(), static_cast<int>(a.integer("axis")),
                                {.exclusive = a.flag("exclusive"), .reverse = !a.flag("reverse")})};
        })
        .doc("The sums of all elements up to each, along an axis.");

}  // namespace

Tensor cumsum(const Operand& x, int axis, const CumsumOptions& options, std::string_view name) {
  const std::int64_t positive = normalize_axis(x, axis, x.tensor().rank(), "cumsum");
  return add_tensor(cumsum_def, {x}, {.name = name, .attributes = attributes_of(positive, options)});
}

}  // namespace belfry
