#include "belfry/tower/tower_func.h"

#include "belfry/base/check.h"
#include "belfry/tower/internal/tower_rules.h"
#include "belfry/tower/tower_context.h"

namespace belfry {

Tensors TowerFunc::operator()(const Tensors& inputs, const Location& where) {
  BELFRY_CHECK(function_ != nullptr, "[tower function] expected a function, got none (at {}). Set it first.",
               to_string(where));
  TowerContext* tower = current_tower_context_or_null();
  BELFRY_CHECK(tower != nullptr,
               "[tower function] expected to be called while a tower is built, got no open tower (at {}). Enter one "
               "first: TrainTowerContext tower(\"\");",
               to_string(where));
  if (options_.check_tower_rules && towers_.all().empty() && tower->is_training()) {
    check_on_scratch_graph(options_.stand_in ? options_.stand_in : function_, signature_, tower->name());
    options_.stand_in = nullptr;
  }
  const Inputs named(signature_, inputs, where);
  const ReuseWatch reuse(*tower);
  const TowerTrail trail;
  Tensors outputs = function_(named);
  reuse.check();
  TowerTensorHandle handle(*tower, named, outputs);
  trail.check_names(handle);
  check_variables(handle, towers_.all());
  towers_.add(std::move(handle));
  return outputs;
}

}  // namespace belfry
