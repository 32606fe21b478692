// What the tests of belfry/nn share: a current graph, and short ways to look into it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "belfry/belfry.h"
#include "tests/support/errors.h"

namespace belfry {

using Names = std::vector<std::string>;

inline Names names(const std::vector<Variable>& variables) {
  Names out;
  for (const Variable& v : variables) out.push_back(v.name());
  return out;
}

class NnTest : public testing::Test {
 protected:
  Tensor images(std::int64_t channels = 3) { return placeholder(f32, {kAny, 8, 8, channels}); }
  Names in(std::string_view collection) { return names(graph.collections().variables(collection)); }
  Variable variable(std::string_view name) {
    for (const Variable& v : graph.variables())
      if (v.name() == name) return v;
    ADD_FAILURE() << "no variable " << name;
    return {};
  }
  // Does `from` depend on `on`, by data or control?
  static bool depends(const Node* from, const Node* on) {
    if (from == on) return true;
    return std::ranges::any_of(from->inputs, [&](const Tensor& t) { return depends(t.node(), on); }) ||
           std::ranges::any_of(from->control_inputs, [&](const Node* n) { return depends(n, on); });
  }

  Graph graph;
  GraphScope scope{graph};
};

}  // namespace belfry
