#include "belfry/nn/regularizers.h"

#include <cmath>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/name_pattern.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

void check_scale(const char* what, double scale) {
  BELFRY_CHECK(scale >= 0 && std::isfinite(scale), "[{}] expected a scale of 0 or more, got {}", what, scale);
}

Tensor named_sum(const Tensors& terms, std::string_view name) {
  Tensor total = terms.empty() ? constant(0.f) : terms.front();
  for (std::size_t i = 1; i < terms.size(); ++i) total = total + terms[i];
  if (!name.empty()) return identity(total, name);
  const std::string scope = current_name_scope();
  const std::string full = current_graph().unique_name(scope.empty() ? "regularize_cost" : scope + "/regularize_cost");
  const auto root = NameScope::at("");
  return identity(total, full);
}

bool in_inference(const TowerContext* tower) { return tower != nullptr && !tower->is_training(); }

}  // namespace

Regularizer l1(double scale) {
  check_scale("l1", scale);
  return [scale](const Tensor& w) { return reduce_sum(abs(w)) * scale; };
}

Regularizer l2(double scale) {
  check_scale("l2", scale);
  return [scale](const Tensor& w) { return reduce_sum(square(w)) * (scale * 0.5); };
}

Tensor regularize_cost(std::string_view regex, const Regularizer& regularizer, std::string_view name,
                       const Location& where) {
  BELFRY_CHECK(static_cast<bool>(regularizer), "[regularize_cost] expected a regulariser, got an empty one (at {})",
               to_string(where));
  const NamePattern pattern("regularize_cost", regex, where);
  const LocationScope location(where);
  const TowerContext* tower = current_tower_context_or_null();
  if (in_inference(tower)) return named_sum({}, name);
  Tensors terms;
  std::string matched;
  {
    const NameScope scope("regularize_cost_terms");
    for (const Variable& v : tower != nullptr
                                 ? tower->trainable_variables()
                                 : current_graph().collections().variables(collection::kTrainableVariables)) {
      if (!pattern.matches(v)) continue;
      const Tensor cost = regularizer(v);
      BELFRY_CHECK(cost && cost.rank() == 0,
                   "[regularize_cost] expected a scalar from the regulariser of '{}', got {} (at {})", v.name(),
                   cost ? to_string(cost.shape()) : "nothing", to_string(where));
      terms.push_back(cost);
      matched += fmt::format("{}{} {}", matched.empty() ? "" : ", ", v.name(), to_string(v.shape()));
    }
  }
  if (terms.empty())
    log_warning(fmt::format("[regularize_cost] no trainable variable matches \"{}\": the cost is 0 (at {}).", regex,
                            to_string(where)));
  else if (tower == nullptr || tower->is_main_training_tower())
    log_info(fmt::format("[regularize_cost] \"{}\" matches {}", regex, matched));
  return named_sum(terms, name);
}

Tensor regularize_cost_from_collection(std::string_view name, const Location& where) {
  const LocationScope location(where);
  const TowerContext* tower = current_tower_context_or_null();
  if (in_inference(tower)) return named_sum({}, name);
  const bool own = tower != nullptr && tower->has_own_variables();
  return named_sum(own ? tower->collected_tensors(collection::kRegularizationLosses)
                       : current_graph().collections().tensors(collection::kRegularizationLosses),
                   name);
}

}  // namespace belfry
