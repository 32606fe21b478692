// Named lists of tensors, operations and variables that parts of a program leave for each other.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "belfry/graph/tensor.h"
#include "belfry/graph/variable.h"

#pragma GCC visibility push(default)
namespace belfry {

namespace collection {
inline constexpr std::string_view kGlobalVariables = "GLOBAL_VARIABLES";  // all saved in checkpoints
inline constexpr std::string_view kLocalVariables = "LOCAL_VARIABLES";    // never saved
inline constexpr std::string_view kModelVariables = "MODEL_VARIABLES";    // exported with the trainables
inline constexpr std::string_view kTrainableVariables = "TRAINABLE_VARIABLES";
inline constexpr std::string_view kUpdateOps = "UPDATE_OPS";
inline constexpr std::string_view kRegularizationLosses = "REGULARIZATION_LOSSES";
inline constexpr std::string_view kSummaries = "SUMMARIES";
inline constexpr std::string_view kMovingSummaries = "MOVING_SUMMARIES";
}  // namespace collection

using CollectionItem = std::variant<Tensor, Operation, Variable>;

class [[gnu::visibility("hidden")]] GraphTransaction;

class Collections {
 public:
  Collections() = default;
  explicit Collections(const Graph* graph) : graph_(graph) {}
  // An item of another graph is an error.
  void add(std::string_view name, CollectionItem item);
  // The items of one kind, in the order they were added.
  std::vector<Tensor> tensors(std::string_view name) const;
  std::vector<Operation> operations(std::string_view name) const;
  std::vector<Variable> variables(std::string_view name) const;
  std::vector<std::string> names() const;
  std::size_t size(std::string_view name) const;
  bool contains(std::string_view name, const Variable& variable) const;

 private:
  friend class CollectionFreeze;
  friend class GraphTransaction;
  struct List {
    std::vector<CollectionItem> items;
    std::map<const Node*, int> variables;  // how often each is one of the items
  };
  using Lists = std::map<std::string, List, std::less<>>;
  using Sizes = std::map<std::string, std::size_t>;
  template <class T>
  std::vector<T> pick(std::string_view name) const;
  Sizes sizes() const;
  void shrink_to(const Sizes& sizes);  // forgets what was added since

  const Graph* graph_ = nullptr;
  Lists lists_;
};

// Restores the named collections (all, if none is named) at the end of the scope: what was added inside is forgotten.
class CollectionFreeze {
 public:
  explicit CollectionFreeze(Collections& collections, std::vector<std::string> names = {});
  ~CollectionFreeze();
  CollectionFreeze(const CollectionFreeze&) = delete;
  CollectionFreeze& operator=(const CollectionFreeze&) = delete;

 private:
  Collections& collections_;
  std::vector<std::string> names_;
  Collections::Lists before_;
};

}  // namespace belfry
#pragma GCC visibility pop
