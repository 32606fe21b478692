#include "belfry/graph/collections.h"

#include "belfry/base/check.h"
#include "belfry/graph/foreign_handle.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

template <class T>
std::vector<T> pick(const std::map<std::string, std::vector<CollectionItem>, std::less<>>& all, std::string_view name) {
  std::vector<T> out;
  if (const auto at = all.find(name); at != all.end())
    for (const CollectionItem& item : at->second)
      if (const T* value = std::get_if<T>(&item)) out.push_back(*value);
  return out;
}

struct HandleOf {
  Operation operator()(const Tensor& t) const { return t; }
  Operation operator()(const Operation& o) const { return o; }
  Operation operator()(const Variable& v) const { return v.handle(); }
};

}  // namespace

void Collections::add(std::string_view name, CollectionItem item) {
  const Operation handle = std::visit(HandleOf(), item);
  BELFRY_CHECK(!handle || graph_ == nullptr || related_to(handle, *graph_),
               "[collection '{}'] expected an item of its own graph, got {}", name,
               foreign(handle, "", "Add it to the collection of that graph."));
  items_[std::string(name)].push_back(std::move(item));
}
std::vector<Tensor> Collections::tensors(std::string_view name) const { return pick<Tensor>(items_, name); }
std::vector<Operation> Collections::operations(std::string_view name) const { return pick<Operation>(items_, name); }
std::vector<Variable> Collections::variables(std::string_view name) const { return pick<Variable>(items_, name); }

std::vector<std::string> Collections::names() const {
  std::vector<std::string> out;
  for (const auto& [name, items] : items_)
    if (!items.empty()) out.push_back(name);
  return out;
}

std::size_t Collections::size(std::string_view name) const {
  const auto at = items_.find(name);
  return at == items_.end() ? 0 : at->second.size();
}

CollectionFreeze::CollectionFreeze(Collections& collections, std::vector<std::string> names)
    : collections_(collections), names_(std::move(names)), before_(collections.items_) {}

CollectionFreeze::~CollectionFreeze() {
  if (names_.empty()) {
    collections_.items_ = std::move(before_);
    return;
  }
  for (const std::string& name : names_) collections_.items_[name] = before_[name];
}

}  // namespace belfry
