#include "belfry/ops/print.h"

#include <string>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

const OpRegistration print_def =
    define_op("Print")
        .input("x")
        .inputs("data")
        .output("y")
        .side_effect()
        .shape([](const ShapeContext& c) {
          BELFRY_CHECK(c.attributes().integer("every") >= 1, "expected .every of 1 or more, got {}",
                       c.attributes().integer("every"));
          return c.input(0);
        })
        .gradient([](const GradientContext& c) {
          Tensors out(static_cast<std::size_t>(c.inputs()));
          out[0] = c.grad();
          return out;
        })
        .doc("Passes x through and logs the values of tensors.");

}  // namespace

Tensor print(const Operand& x, const std::vector<Tensor>& data, std::string_view message, const PrintOptions& options,
             std::string_view name) {
  std::vector<Operand> inputs{x};
  inputs.insert(inputs.end(), data.begin(), data.end());
  return add_tensor(print_def, inputs,
                    {.name = name,
                     .attributes = {{"message", std::string(message)},
                                    {"every", options.every},
                                    {"first_n", options.first_n},
                                    {"summarize", options.summarize}}});
}

Tensor print(const Operand& x, std::string_view message, const PrintOptions& options, std::string_view name) {
  const LocationScope location(x.where());
  return print(x, {x.tensor()}, message, options, name);
}

}  // namespace belfry
