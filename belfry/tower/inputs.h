// Inputs: the tensors that a tower function is called with, by name or by number.
//
//   Tensor build_graph(Inputs in) { return cost_of(in["image"], in["label"]); }
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

class Inputs {
 public:
  Inputs() = default;
  // One tensor per spec, of its type and compatible with its shape.
  Inputs(const std::vector<TensorSpec>& signature, Tensors tensors, const Location& where = Location::current());

  const Tensor& operator[](std::string_view name) const;  // throws with the nearest names
  const Tensor& operator[](std::size_t index) const;
  const Tensor& operator[](int index) const { return (*this)[static_cast<std::size_t>(index)]; }
  std::size_t size() const { return tensors_.size(); }
  const Tensors& tensors() const { return tensors_; }
  const std::vector<std::string>& names() const { return names_; }
  Tensors::const_iterator begin() const { return tensors_.begin(); }
  Tensors::const_iterator end() const { return tensors_.end(); }

 private:
  std::vector<std::string> names_;
  Tensors tensors_;
};

}  // namespace belfry
#pragma GCC visibility pop
