#include "belfry/engine/depths.h"

#include <algorithm>
#include <set>

#include "belfry/base/check.h"
#include "belfry/engine/ir.h"

namespace belfry {
namespace {

constexpr std::int64_t kGap = 1024;

template <class Visit>
void visit_before(const Ir& ir, NodeId id, Visit visit) {
  for (ValueId v : ir.node(id).inputs)
    if (const NodeId producer = ir.producer(v); producer != kNone) visit(producer);
  for (NodeId before : ir.node(id).after) visit(before);
}

}  // namespace

void Depths::settle(const Ir& ir) {
  if (depths_.empty()) {
    depths_.resize(ir.nodes().size());
    std::int64_t next = 0;
    for (NodeId id : topological(ir)) depth(id) = next += kGap;
  }
  depths_.resize(ir.nodes().size());
  const auto limit = 2 * kGap * static_cast<std::int64_t>(depths_.size());
  while (!changed_.empty()) {
    const NodeId id = changed_.back();
    changed_.pop_back();
    if (ir.node(id).dead) continue;
    visit_before(ir, id, [&](NodeId before) { depth(id) = std::max(depth(id), depth(before) + 1); });
    BELFRY_BUG_IF(depth(id) > limit, "operation {} of a plan waits for itself", id);
    const auto check = [&](NodeId next) {
      if (depth(next) <= depth(id)) changed_.push_back(next);
    };
    for (ValueId v : ir.node(id).outputs) std::ranges::for_each(ir.readers(v), check);
    std::ranges::for_each(ir.followers(id), check);
  }
}

bool Depths::reaches(const Ir& ir, NodeId node, NodeId other) {
  settle(ir);
  if (depth(other) <= depth(node)) return false;
  std::set<NodeId> seen{other};
  std::vector<NodeId> open{other};
  bool found = false;
  while (!open.empty() && !found) {
    const NodeId id = open.back();
    open.pop_back();
    visit_before(ir, id, [&](NodeId before) {
      found = found || before == node;
      if (depth(before) > depth(node) && seen.insert(before).second) open.push_back(before);
    });
  }
  return found;
}

}  // namespace belfry
