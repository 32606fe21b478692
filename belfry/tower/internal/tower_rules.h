// The rules of tower functions (tower_func.h), checked after one has been called. Internal to belfry/tower.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "belfry/graph/variable_scope.h"
#include "belfry/tower/tower_handle.h"

namespace belfry {

class TowerContext;

// Rule 4, second half: remembers the reuse of the scopes that are open.
class ReuseWatch {
 public:
  explicit ReuseWatch(const TowerContext& tower);
  void check() const;

 private:
  std::string tower_;
  std::vector<std::pair<const OpenedVariableScope*, Reuse>> open_;
};

// Rule 5, for the ops and variables that were made while it lives.
class TowerTrail {
 public:
  TowerTrail();
  void check_names(const TowerTensorHandle& tower) const;

 private:
  std::size_t nodes_before_ = 0;
};

// Rules 1 and 2 of one call, given the calls before it. (get_variable() checks that trainables are floats; the
// optimizer, that the cost depends on them.)
void check_variables(const TowerTensorHandle& tower, const std::vector<TowerTensorHandle>& before);

// Rules 1, 3 and 4 of a function that may be called only once: calls it three times on a scratch graph, for a first
// tower, for one with variables of its own, and for one that shares them. What the function needs from outside does not
// exist there: if it throws, nothing is checked, the log says why, and the real call shows what is wrong. The current
// graph owns the scratch graph, so that using a handle that the function has kept from there is an error.
void check_on_scratch_graph(const std::function<Tensors(const Inputs&)>& function,
                            const std::vector<TensorSpec>& signature, const std::string& tower);

}  // namespace belfry
