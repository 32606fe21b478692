// For tests of the compiler's passes: small graphs, the Ir that prune() makes of them, and questions about it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "belfry/base/error.h"
#include "belfry/engine/cpu/compile/passes.h"
#include "belfry/engine/cpu/memory/variable_store.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "tests/engine/cpu_target.h"
#include "tests/support/errors.h"

namespace belfry {

struct Request {
  std::vector<Tensor> fetches{};
  std::vector<Operation> targets{};
  std::vector<std::pair<Tensor, Shape>> feeds{};
};

class IrTest : public testing::Test {
 protected:
  static Signature signature_of(const Request& request) {
    Signature s{.fetches = request.fetches, .targets = request.targets, .feeds = {}, .fed = {}};
    for (const auto& [tensor, shape] : request.feeds) {
      s.feeds.push_back(tensor);
      s.fed.push_back({"", tensor.dtype(), shape});
    }
    return s;
  }
  Ir pruned(const Request& request, int devices = 1) const { return prune(signature_of(request), cpu_infos(devices)); }
  Ir shaped(const Request& request, int devices = 1) const {
    Ir ir = pruned(request, devices);
    infer_shapes(ir);
    return ir;
  }
  Ir simplified(const Request& request, int devices = 1) const {
    Ir ir = shaped(request, devices);
    simplify(ir);
    return ir;
  }

  Variable var(const char* name, const Shape& shape, float value = 1.f) {
    return get_variable(name, {.shape = shape, .initializer = [value](const Shape& s, DType d) {
                                 return constant(Array::full(d, s, value));
                               }});
  }

  Graph graph;
  GraphScope scope{graph};
};

// The ops of the nodes that are left, sorted.
inline std::vector<std::string> ops_of(const Ir& ir) {
  std::vector<std::string> out;
  for (const IrNode& node : ir.nodes())
    if (!node.dead) out.push_back(node.op.name());
  std::ranges::sort(out);
  return out;
}

inline int count_of(const Ir& ir, std::string_view op) {
  return static_cast<int>(
      std::ranges::count_if(ir.nodes(), [&](const IrNode& node) { return !node.dead && node.op == op_kind(op); }));
}

// The only node of this op.
inline NodeId the(const Ir& ir, std::string_view op) {
  EXPECT_EQ(count_of(ir, op), 1) << op;
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id)
    if (!ir.node(id).dead && ir.node(id).op == op_kind(op)) return id;
  throw Error("no node of op " + std::string(op));
}

// The node that was made from an operation of the graph.
inline NodeId made_from(const Ir& ir, const Operation& operation) {
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id)
    if (!ir.node(id).dead && ir.node(id).origin == operation.node() && ir.node(id).op == op_kind(operation.type()))
      return id;
  throw Error("no node for " + operation.name());
}

// Whether there is a path, by data or order, from one node to the other.
inline bool comes_before(const Ir& ir, NodeId first, NodeId second) {
  std::vector<NodeId> open{second};
  std::vector<char> seen(ir.nodes().size(), 0);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (id == kNone || seen[static_cast<std::size_t>(id)]) continue;
    seen[static_cast<std::size_t>(id)] = 1;
    if (id == first && id != second) return true;
    for (ValueId v : ir.node(id).inputs) open.push_back(ir.producer(v));
    for (NodeId before : ir.node(id).after) open.push_back(before);
  }
  return false;
}

inline int position(const std::vector<NodeId>& order, NodeId id) {
  return static_cast<int>(std::ranges::find(order, id) - order.begin());
}

}  // namespace belfry
