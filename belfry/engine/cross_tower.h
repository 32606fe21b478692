// Which "CrossTowerSum"s of a graph belong together in a run: those of one group, one per tower. In the graph each has
// only its own tower's input; the engine gives it those of all towers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "belfry/graph/node.h"

namespace belfry {

inline bool is_cross_tower_sum(const Node& node) { return node.def->across_towers; }

class CrossTowerGroups {
 public:
  // The node's group, itself included, in the order of towers. Throws if a member is missing, naming the towers that
  // have one; also if towers reach their groups in different orders, where each would wait for the other.
  const std::vector<const Node*>& members(const Node& node);

 private:
  void collect(const Graph& graph);
  void check_order(const std::vector<const Node*>& group);

  bool collected_ = false;
  std::map<std::string, std::vector<const Node*>> groups_;
  std::map<const Node*, const std::vector<const Node*>*> asked_;  // by their member in tower 0
};

}  // namespace belfry
