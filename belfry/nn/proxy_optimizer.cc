#include "belfry/nn/proxy_optimizer.h"

#include "belfry/base/check.h"
#include "belfry/graph/node.h"
#include "belfry/graph/scope.h"

namespace belfry {

ProxyOptimizer::ProxyOptimizer(std::unique_ptr<Optimizer> wrapped, const char* caller, const Location& where)
    : wrapped_(std::move(wrapped)) {
  BELFRY_CHECK(wrapped_ != nullptr, "[{}] expected an optimizer, got none (at {}). Pass one: adam(), say.", caller,
               to_string(where));
}

Tensor ProxyOptimizer::read_after(const Operation& update, const Variable& variable) {
  const ControlDependencies after({update});
  return variable.read(variable.node()->where);
}

GradientsAndVariables ProxyOptimizer::with_gradient(const GradientsAndVariables& all) {
  GradientsAndVariables out;
  for (const GradientAndVariable& item : all)
    if (item.gradient) out.push_back(item);
  return out;
}

}  // namespace belfry
