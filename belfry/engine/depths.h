// How deep each node of a plan lies: deeper than all that it reads and waits for. A node depends only on nodes that lie
// less deep, so a search for one among many ends soon. Kept lazily: what has changed is settled when it is asked for.
// At first there are gaps between the depths, so that a node that takes in another one seldom moves what comes after.
#pragma once

#include <cstdint>
#include <vector>

namespace belfry {

class Ir;

class Depths {
 public:
  // What the node reads or waits for is different now, or it is new.
  void changed(int node) {
    if (!depths_.empty()) changed_.push_back(node);
  }
  // The nodes have other numbers now.
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
