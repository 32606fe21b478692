#include "belfry/nn/ema_of_weights.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/internal/train_op.h"
#include "belfry/nn/proxy_optimizer.h"
#include "belfry/nn/replace_variables.h"
#include "belfry/nn/slot_variables.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

class EmaOfWeights final : public ProxyOptimizer {
 public:
  EmaOfWeights(std::unique_ptr<Optimizer> wrapped, EmaOptions options, const Location& where)
      : ProxyOptimizer(std::move(wrapped), "ema_of_weights", where), options_(options) {}
  std::string name() const override { return "EMA"; }

  Operation apply_processed(const GradientsAndVariables& gradients, std::string_view wanted,
                            const Location& where) override {
    const LocationScope location(where);
    const GradientsAndVariables items = with_gradient(gradients);
    if (items.empty()) return wrapped().apply_processed(gradients, wanted, where);  // it says what is wrong
    TrainOpScope scope(wanted, name());
    std::vector<Operation> updates{wrapped().apply_processed(gradients, "", where)};
    const Tensor rate = rate_of(items.front().variable);
    for (const GradientAndVariable& item : items) {
      const DeviceScope device(item.variable.node()->device);
      const Tensor weights = read_after(updates.front(), item.variable);
      const Variable average = average_for(item.variable);
      updates.emplace_back(average.assign_sub((average - weights) * cast(rate, average.dtype())));
    }
    return scope.group(updates, where);
  }

 private:
  // Part of the model: inference may read it.
  Variable average_for(const Variable& variable) {
    const Variable average = slots_.copy_of(variable, "EMA");
    Collections& collections = variable.node()->graph->collections();
    const auto is_in = [&](std::string_view name) {
      const std::vector<Variable> all = collections.variables(name);
      return std::ranges::find(all, average) != all.end();
    };
    if (is_in(collection::kGlobalVariables) && !is_in(collection::kModelVariables))
      collections.add(collection::kModelVariables, average);
    return average;
  }

  // 1 - decay, for this update.
  Tensor rate_of(const Variable& first) {
    const Tensor rate = constant(Array(static_cast<float>(1 - options_.decay)));
    if (!options_.warm_up) return rate;
    const Tensor n = slots_.get(first, "EMA/updates", {}, DType::f32).assign_add(1.f) - 1.f;
    return maximum(rate, 9.f / (n + 10.f));
  }

  EmaOptions options_;
  SlotVariables slots_;
};

// The variable's average, or an empty handle.
Variable average_of(const Variable& variable) {
  const std::string name = variable.name() + "/EMA";
  const auto& all = variable.node()->graph->variables();
  const auto at = std::ranges::find_if(all, [&](const Variable& v) { return v.name() == name; });
  return at == all.end() ? Variable() : *at;
}

}  // namespace

std::unique_ptr<Optimizer> ema_of_weights(std::unique_ptr<Optimizer> optimizer, EmaOptions options,
                                          const Location& where) {
  BELFRY_CHECK(options.decay >= 0 && options.decay < 1,
               "[ema_of_weights] expected decay in [0, 1), got {} (at {}). The usual ones are 0.99 to 0.9999.",
               options.decay, to_string(where));
  return std::make_unique<EmaOfWeights>(std::move(optimizer), options, where);
}

std::unique_ptr<VariableScope> use_ema_of_weights(const Location& where) {
  const auto trained = current_graph().collections().variables(collection::kTrainableVariables);
  BELFRY_CHECK(std::ranges::any_of(trained, [](const Variable& v) { return static_cast<bool>(average_of(v)); }),
               "[use_ema_of_weights] expected moving averages of weights in the graph, got none (at {}). Build the "
               "optimizer, with ema_of_weights(), before this.",
               to_string(where));
  return remap_variables([](const Variable& variable) -> Tensor {
    const Variable average = average_of(variable);
    return average ? average.value() : variable.value();
  });
}

}  // namespace belfry
