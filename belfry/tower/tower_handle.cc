#include "belfry/tower/tower_handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/graph/graph.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

std::string with_prefix(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : prefix + "/" + std::string(name);
}

std::string without_prefix(const std::string& prefix, const std::string& name) {
  return !prefix.empty() && name.starts_with(prefix + "/") ? name.substr(prefix.size() + 1) : name;
}

// A hint for a variable's name that is not among those `of_tower`: hyper-parameters and optimizers' slots, say, are
// made outside of towers.
std::string instead_of(std::string_view name, const std::vector<std::string>& of_tower, const Graph& graph) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> of_graph;
  for (const Variable& v : graph.variables()) of_graph.push_back(v.name());
  const std::string near = did_you_mean(name, of_tower);
  const bool is_outside = std::ranges::find(of_graph, name) != of_graph.end();
  const auto outside = is_outside ? std::vector{std::string(name)} : nearest_names(name, of_graph, 1);
  if (is_outside || (near.empty() && !outside.empty()))
    return fmt::format(" The graph has '{0}' outside of it: trainer.graph().get_variable_by_name(\"{0}\").{1}",
                       outside[0], near);
  if (!near.empty()) return near;
  if (of_tower.empty()) return " It has none.";
  const auto end = of_tower.begin() + static_cast<std::ptrdiff_t>(std::min(of_tower.size(), kShown));
  return fmt::format(" It has '{}'{}.", fmt::join(of_tower.begin(), end, "', '"),
                     of_tower.size() > kShown ? fmt::format(" and {} more", of_tower.size() - kShown) : "");
}

}  // namespace

TowerTensorHandle::TowerTensorHandle(const TowerContext& context, Inputs inputs, Tensors outputs)
    : graph_(&current_graph()),
      name_(context.name()),
      name_scope_(context.name_scope()),
      variable_scope_(context.variable_scope()),
      index_(context.index()),
      is_training_(context.is_training()),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      variables_(context.variables()) {
  for (const std::string& collection : graph_->collections().names())
    if (Tensors tensors = context.collected_tensors(collection); !tensors.empty())
      collected_.emplace(collection, std::move(tensors));
}

Tensor TowerTensorHandle::find_tensor(std::string_view name) const {
  const std::vector<std::string>& inputs = inputs_.names();
  if (std::ranges::find(inputs, name) != inputs.end()) return inputs_[name];
  return graph_->find_tensor(with_prefix(name_scope_, name));
}

Tensor TowerTensorHandle::get_tensor(std::string_view name) const {
  if (const Tensor found = find_tensor(name)) return found;
  std::vector<std::string> names = inputs_.names();
  for (const Operation& operation : graph_->operations())
    if (name_scope_.empty() || operation.name().starts_with(name_scope_ + "/"))
      names.push_back(without_prefix(name_scope_, operation.name()));
  fail("[tower '{}'] expected the name of a tensor of the tower, got '{}'.{}", name_, name,
       did_you_mean(std::string(name), names));
}

Variable TowerTensorHandle::get_variable(std::string_view name) const {
  std::vector<std::string> names;
  for (const Variable& v : variables_) {
    names.push_back(local_name(v));
    if (names.back() == name) return v;
  }
  fail("[tower '{}'] expected the name of a variable of the tower, got '{}'.{}", name_, name,
       instead_of(name, names, *graph_));
}

std::vector<Variable> TowerTensorHandle::trainable_variables() const {
  std::vector<Variable> out = variables_;
  std::erase_if(out, [](const Variable& v) { return !v.trainable(); });
  return out;
}

Tensors TowerTensorHandle::get_collection(std::string_view collection) const {
  const auto at = collected_.find(collection);
  return at == collected_.end() ? Tensors{} : at->second;
}

std::string TowerTensorHandle::local_name(const Variable& variable) const {
  return without_prefix(variable_scope_, variable.name());
}

std::vector<TowerTensorHandle> TowerTensorHandles::training() const {
  std::vector<TowerTensorHandle> out = all_;
  std::erase_if(out, [](const TowerTensorHandle& h) { return !h.is_training(); });
  return out;
}

std::vector<TowerTensorHandle> TowerTensorHandles::inference() const {
  std::vector<TowerTensorHandle> out = all_;
  std::erase_if(out, [](const TowerTensorHandle& h) { return h.is_training(); });
  return out;
}

const TowerTensorHandle& TowerTensorHandles::operator[](std::string_view tower) const {
  std::vector<std::string> names;
  for (const TowerTensorHandle& h : all_) {
    if (h.name() == tower) return h;
    names.push_back(h.name());
  }
  fail("[towers] expected the name of a tower, got '{}'.{}", tower, did_you_mean(std::string(tower), names));
}

}  // namespace belfry
