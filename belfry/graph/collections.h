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

 private:
  friend class CollectionFreeze;
  const Graph* graph_ = nullptr;
  std::map<std::string, std::vector<CollectionItem>, std::less<>> items_;
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
  std::map<std::string, std::vector<CollectionItem>, std::less<>> before_;
};

}  // namespace belfry
