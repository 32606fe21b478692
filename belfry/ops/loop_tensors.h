// What a loop starts from: tensors in braces, or a vector of them.
#pragma once

#include <initializer_list>
#include <utility>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// Not a vector, which would take {2, x} for two copies of x.
class LoopTensors {
 public:
  LoopTensors(std::initializer_list<Tensor> tensors) : tensors_(tensors) {}
  LoopTensors(Tensors tensors) : tensors_(std::move(tensors)) {}  // NOLINT
  operator const Tensors&() const { return tensors_; }            // NOLINT

 private:
  Tensors tensors_;
};

}  // namespace belfry
#pragma GCC visibility pop
