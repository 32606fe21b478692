#include "belfry/loop/step_counter.h"

#include <algorithm>

#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/loop/trainer.h"
#include "belfry/ops/basic.h"

namespace belfry {
namespace {

constexpr const char* kName = "global_step";

Variable find_variable(const Graph& graph) {
  const std::vector<Variable>& all = graph.variables();
  const auto at = std::ranges::find_if(all, [](const Variable& v) { return v.name() == kName; });
  return at == all.end() ? Variable() : *at;
}

}  // namespace

Tensor get_global_step() {
  Graph& graph = current_graph().outermost();
  if (const Variable known = find_variable(graph)) return known.value();
  const GraphScope root(graph);
  return get_variable(kName, {.shape = {},
                              .dtype = DType::i64,
                              .initializer = [](const Shape&, DType) { return constant(Array(std::int64_t{0})); },
                              .trainable = false})
      .value();
}

void StepCounter::setup_graph() {
  variable_ = find_variable(trainer().graph());
  if (variable_) count_ = Operation(variable_.assign_add(1).node());
}

// Counting continues from a loaded value. If the checkpoint's graph had no such variable, the checkpoint still gives
// the step.
void StepCounter::before_train() {
  if (!variable_) return;
  Session& session = trainer().session();
  const auto value = static_cast<std::int64_t>(session.value(variable_, trainer().trained_at()).item());
  if (value == 0 && trainer().global_step_ > 0)
    session.set_value(variable_, Array(trainer().global_step_), trainer().trained_at());
  else
    trainer().global_step_ = value;
}

HookRequest StepCounter::before_run(const RunContext&) {
  HookRequest out{.random_step = static_cast<std::uint64_t>(trainer().global_step_)};
  if (count_) out.fetches.emplace_back(count_);
  return out;
}

void StepCounter::after_run(const RunContext&, const RunValues&) { ++trainer().global_step_; }

}  // namespace belfry
