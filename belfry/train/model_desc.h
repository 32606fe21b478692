// ModelDesc: a model as a class: its inputs, its graph, its optimizer.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "belfry/base/handle.h"
#include "belfry/nn/optimizer.h"
#include "belfry/tower/inputs.h"

#pragma GCC visibility push(default)
namespace belfry {

// What every model has. Models with several costs (GANs) derive from this and need a trainer that you write.
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
  // The tower function: called for every tower, also for inference (where its result is not used).
  virtual Tensor build_graph(Inputs inputs) = 0;
  virtual std::unique_ptr<Optimizer> optimizer() = 0;

  // Makes another model in the way this one was made; empty unless model<M>() made it, from arguments that can be
  // copied. The calls that only check the rules of tower functions are made on such a model: the members of this one
  // never see what they build.
  const std::function<std::shared_ptr<ModelDesc>()>& maker() const { return maker_; }
  void set_maker(std::function<std::shared_ptr<ModelDesc>()> maker) { maker_ = std::move(maker); }

 private:
  std::function<std::shared_ptr<ModelDesc>()> maker_;
};

template <std::derived_from<ModelDesc> T, class... Args>
Handle<ModelDesc> model(Args&&... args) {
  std::function<std::shared_ptr<ModelDesc>()> maker;
  if constexpr ((std::copy_constructible<std::decay_t<Args>> && ...) &&
                std::constructible_from<T, const std::decay_t<Args>&...>)
    maker = [... kept = std::decay_t<Args>(args)] { return std::make_shared<T>(kept...); };
  auto out = std::make_shared<T>(std::forward<Args>(args)...);
  out->set_maker(std::move(maker));
  return Handle<ModelDesc>(std::move(out));
}

}  // namespace belfry
#pragma GCC visibility pop
