#include "belfry/nn/slot_optimizer.h"

#include <set>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/graph/node.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/internal/train_op.h"
#include "belfry/nn/update_ops.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}'{}'", out.empty() ? "" : ", ", name);
  return out;
}

// The entries that have a gradient; warns about the others, and throws if a variable is given twice.
GradientsAndVariables connected(const GradientsAndVariables& all, const std::string& optimizer, const Location& where) {
  BELFRY_CHECK(!all.empty(), "[{}] expected gradients to apply, got an empty list (at {})", optimizer,
               to_string(where));
  GradientsAndVariables out;
  std::vector<std::string> without;
  std::set<const Node*> given;
  for (const GradientAndVariable& item : all) {
    BELFRY_CHECK(!given.contains(item.variable.node()),
                 "[{}] expected each variable once, got '{}' twice (at {}). Add up its gradients first.", optimizer,
                 item.variable.name(), to_string(where));
    if (item.gradient) {
      given.insert(item.variable.node());
      out.push_back(item);
    } else {
      without.push_back(item.variable.name());
    }
  }
  BELFRY_CHECK(!out.empty(),
               "[{}] expected a cost that depends on the variables to train, got no gradient for {} (at {}). "
               "Look for a stop_gradient, a cast to integers, or the wrong variables.",
               optimizer, list(without), to_string(where));
  if (!without.empty())
    log_warning(
        fmt::format("[{}] no gradient for {} (at {}): not updated.", optimizer, list(without), to_string(where)));
  return out;
}

}  // namespace

Operation SlotOptimizer::apply_processed(const GradientsAndVariables& gradients, std::string_view wanted,
                                         const Location& where) {
  const LocationScope location(where);
  const GradientsAndVariables items = connected(gradients, name(), where);
  std::vector<Operation> updates = update_ops_for(items);
  TrainOpScope scope(wanted, name());
  const Tensor rate = learning_rate_.tensor();
  begin(items.front().variable);
  for (const GradientAndVariable& item : items) {
    const DeviceScope device(item.variable.node()->device);  // an update runs where the variable lives
    const Tensor own_rate = item.learning_rate_scale == 1 ? rate : rate * item.learning_rate_scale;
    updates.emplace_back(update(item.variable, own_rate, item.gradient, "update_" + item.variable.name()));
  }
  return scope.group(updates, where);
}

}  // namespace belfry
