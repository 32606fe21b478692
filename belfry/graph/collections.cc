#include "belfry/graph/collections.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/foreign_handle.h"

namespace belfry {
namespace {

struct HandleOf {
  Operation operator()(const Tensor& t) const { return t; }
  Operation operator()(const Operation& o) const { return o; }
  Operation operator()(const Variable& v) const { return v.handle(); }
};

}  // namespace

template <class T>
std::vector<T> Collections::pick(std::string_view name) const {
  std::vector<T> out;
  if (const auto at = lists_.find(name); at != lists_.end())
    for (const CollectionItem& item : at->second.items)
      if (const T* value = std::get_if<T>(&item)) out.push_back(*value);
  return out;
}

void Collections::add(std::string_view name, CollectionItem item) {
  const Operation handle = std::visit(HandleOf(), item);
  BELFRY_CHECK(!handle || graph_ == nullptr || related_to(handle, *graph_),
               "[collection '{}'] expected an item of its own graph, got {}", name,
               foreign(handle, "", "Add it to the collection of that graph."));
  List& list = lists_[std::string(name)];
  if (const auto* variable = std::get_if<Variable>(&item)) ++list.variables[variable->node()];
  list.items.push_back(std::move(item));
}
std::vector<Tensor> Collections::tensors(std::string_view name) const { return pick<Tensor>(name); }
std::vector<Operation> Collections::operations(std::string_view name) const { return pick<Operation>(name); }
std::vector<Variable> Collections::variables(std::string_view name) const { return pick<Variable>(name); }

std::vector<std::string> Collections::names() const {
  std::vector<std::string> out;
  for (const auto& [name, list] : lists_)
    if (!list.items.empty()) out.push_back(name);
  return out;
}

std::size_t Collections::size(std::string_view name) const {
  const auto at = lists_.find(name);
  return at == lists_.end() ? 0 : at->second.items.size();
}

bool Collections::contains(std::string_view name, const Variable& variable) const {
  const auto at = lists_.find(name);
  return at != lists_.end() && at->second.variables.contains(variable.node());
}

Collections::Sizes Collections::sizes() const {
  Sizes out;
  for (const auto& [name, list] : lists_) out.emplace_hint(out.end(), name, list.items.size());
  return out;
}

void Collections::shrink_to(const Sizes& sizes) {
  for (auto& [name, list] : lists_) {
    const auto before = sizes.find(name);
    const std::size_t size = before == sizes.end() ? 0 : before->second;
    for (; list.items.size() > size; list.items.pop_back())
      if (const auto* variable = std::get_if<Variable>(&list.items.back()))
        if (const auto at = list.variables.find(variable->node()); --at->second == 0) list.variables.erase(at);
  }
}

CollectionFreeze::CollectionFreeze(Collections& collections, std::vector<std::string> names)
    : collections_(collections), names_(std::move(names)), before_(collections.lists_) {}

CollectionFreeze::~CollectionFreeze() {
  if (names_.empty()) {
    collections_.lists_ = std::move(before_);
    return;
  }
  for (const std::string& name : names_) collections_.lists_[name] = before_[name];
}

}  // namespace belfry
