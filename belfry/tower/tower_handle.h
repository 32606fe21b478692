// TowerTensorHandle: one call of a tower function, for looking things up by the names that the function used.
//
//   towers.training()[1].get_tensor("conv1/output")     // is "tower1/conv1/output" of the graph
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/collections.h"
#include "belfry/tower/inputs.h"

#pragma GCC visibility push(default)
namespace belfry {

class TowerContext;

class TowerTensorHandle {
 public:
  // Holds what the context has seen so far: make it at the end of the call.
  TowerTensorHandle(const TowerContext& context, Inputs inputs, Tensors outputs);

  const std::string& name() const { return name_; }
  int index() const { return index_; }
  bool is_training() const { return is_training_; }

  const Inputs& inputs() const { return inputs_; }
  const Tensors& outputs() const { return outputs_; }  // what the function returned

  // An input by its name in the signature, otherwise a tensor by its name without the tower's prefix. If there is none,
  // throws with the nearest names; find_tensor() returns an empty one.
  Tensor get_tensor(std::string_view name) const;
  Tensor find_tensor(std::string_view name) const;
  Tensor operator[](std::string_view name) const { return get_tensor(name); }
  // By name without the prefix of the tower's own variables; throws with the nearest names.
  Variable get_variable(std::string_view name) const;
  // What the call has made or found, trainables included.
  const std::vector<Variable>& variables() const { return variables_; }
  std::vector<Variable> trainable_variables() const;
  // What the call added to a collection, even what the context made the graph forget.
  Tensors get_collection(std::string_view collection) const;

  // A variable's name as the function knows it.
  std::string local_name(const Variable& variable) const;
  const std::string& variable_scope() const { return variable_scope_; }  // "" or the prefix of the tower's own

 private:
  Graph* graph_ = nullptr;
  std::string name_, name_scope_, variable_scope_;
  int index_ = 0;
  bool is_training_ = false;
  Inputs inputs_;
  Tensors outputs_;
  std::vector<Variable> variables_;
  std::map<std::string, Tensors, std::less<>> collected_;
};

// All calls of a tower function, in order.
class TowerTensorHandles {
 public:
  const std::vector<TowerTensorHandle>& all() const { return all_; }
  std::vector<TowerTensorHandle> training() const;
  std::vector<TowerTensorHandle> inference() const;
  // By the tower's name; throws with the nearest names.
  const TowerTensorHandle& operator[](std::string_view tower) const;
  void add(TowerTensorHandle handle) { all_.push_back(std::move(handle)); }

 private:
  std::vector<TowerTensorHandle> all_;
};

}  // namespace belfry
#pragma GCC visibility pop
