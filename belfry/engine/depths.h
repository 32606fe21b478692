// The depth of each node of a plan: greater than that of every node that it reads or waits for. A node depends only on
// nodes of smaller depth, so searches for dependencies end early. Updated lazily, when a depth is asked for. The
// initial depths have gaps, so that a node that absorbs another seldom moves later ones.
#pragma once

#include <cstdint>
#include <vector>

namespace belfry {

class Ir;

class Depths {
 public:
  // Tells that the node is new, or that what it reads or waits for has changed.
  void changed(int node) {
    if (!depths_.empty()) changed_.push_back(node);
  }
  // Tells that the nodes have been renumbered.
  void forget() {
    depths_.clear();
    changed_.clear();
  }
  // Whether `node` has to run before `other`, over one edge or more.
  bool reaches(const Ir& ir, int node, int other);

 private:
  void settle(const Ir& ir);
  std::int64_t& depth(int node) { return depths_[static_cast<std::size_t>(node)]; }

  std::vector<std::int64_t> depths_;  // by node; empty until they are asked for
  std::vector<int> changed_;          // since then
};

}  // namespace belfry
