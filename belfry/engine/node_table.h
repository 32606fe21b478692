// Something for each of a graph's nodes, found by the node's number. Internal to engine.
#pragma once

#include <cstddef>
#include <vector>

#include "belfry/graph/node.h"

namespace belfry {

template <class T>
class NodeTable {
 public:
  T& operator[](const Node* node) {
    const auto number = static_cast<std::size_t>(node->id);
    if (number >= items_.size()) items_.resize(number + 1 + number / 2);
    return items_[number];
  }

 private:
  std::vector<T> items_;
};

}  // namespace belfry
