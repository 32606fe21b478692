// ModelDesc: a model as a class: its inputs, its graph, its optimizer.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "belfry/base/handle.h"
#include "belfry/nn/optimizer.h"
#include "belfry/tower/inputs.h"

namespace belfry {

// What every model has. Models with several costs (GANs) derive from this and have a trainer of their own.
class ModelDescBase {
 public:
  ModelDescBase() = default;
  virtual ~ModelDescBase() = default;
  ModelDescBase(ModelDescBase&&) = default;
  ModelDescBase& operator=(ModelDescBase&&) = default;

  virtual std::vector<TensorSpec> inputs() const = 0;
};

// A model with a single cost.
class ModelDesc : public ModelDescBase {
 public:
  // The tower function: called for every tower, for inference too (where what it returns is not used).
  virtual Tensor build_graph(Inputs inputs) = 0;
  virtual std::unique_ptr<Optimizer> optimizer() = 0;
};

template <std::derived_from<ModelDesc> T, class... Args>
Handle<ModelDesc> model(Args&&... args) {
  return Handle<ModelDesc>(std::make_shared<T>(std::forward<Args>(args)...));
}

}  // namespace belfry
