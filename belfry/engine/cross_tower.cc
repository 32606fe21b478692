#include "belfry/engine/cross_tower.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

std::int64_t tower_of(const Node* node) { return node->attributes.integer("tower"); }
std::int64_t total_of(const Node* node) { return node->attributes.integer("total"); }
const std::string& group_of(const Node* node) { return node->attributes.get<std::string>("group"); }

std::string title(const Node& node) {
  return fmt::format("[{} '{}']", node.attributes.get<std::string>("layer"), group_of(&node));
}

bool complete(const std::vector<const Node*>& members) {
  if (static_cast<std::int64_t>(members.size()) != total_of(members[0])) return false;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (tower_of(members[i]) != static_cast<std::int64_t>(i) || total_of(members[i]) != total_of(members[0]))
      return false;
  return true;
}

std::string list(const std::vector<const Node*>& members) {
  std::string out;
  for (const Node* node : members)
    out += fmt::format("{}tower {} of {} ('{}')", out.empty() ? "" : ", ", tower_of(node), total_of(node), node->name);
  return out;
}

}  // namespace

void CrossTowerGroups::collect(const Graph& graph) {
  if (collected_) return;
  collected_ = true;
  for (const auto& node : graph.nodes())
    if (is_cross_tower_sum(*node)) groups_[group_of(node.get())].push_back(node.get());
  for (auto& [name, members] : groups_)
    std::ranges::sort(members, {}, [](const Node* node) { return std::pair(tower_of(node), node->id); });
}

const std::vector<const Node*>& CrossTowerGroups::members(const Node& node) {
  collect(*node.graph);
  const std::vector<const Node*>& out = groups_.at(group_of(&node));
  BELFRY_CHECK(complete(out),
               "{} expected its sum across towers in all {} towers, got it in {} only {}. A tower function must do the "
               "same in each tower, and gradients must be taken in all of them.",
               title(node), total_of(&node), list(out), made_at(node));
  if (asked_.emplace(out[0], &out).second) check_order(out);
  return out;
}

// Node numbers are a topological order within a tower. If all towers have their groups in the same order of numbers,
// the groups have a topological order too.
void CrossTowerGroups::check_order(const std::vector<const Node*>& group) {
  for (const auto& [first, other] : asked_) {
    const std::size_t towers = std::min(group.size(), other->size());
    for (std::size_t t = 1; t < towers; ++t)
      BELFRY_CHECK((group[0]->id < first->id) == (group[t]->id < (*other)[t]->id),
                   "{} expected the same order of sums across towers in every tower, got it before '{}' in one and "
                   "after it in another {}. A tower function must do the same in each tower.",
                   title(*group[0]), group_of(first), made_at(*group[0]));
  }
}

}  // namespace belfry
