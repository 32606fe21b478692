// Inputs that are made by the graph, and inputs made of other inputs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "belfry/input/input_source.h"

#pragma GCC visibility push(default)
namespace belfry {

// Data that graph ops compute: a reading pipeline, random numbers. The function is called for each tower. `size` is how
// many runs make a pass: for steps_per_epoch, and for inference.
class TensorInput final : public InputSource {
 public:
  explicit TensorInput(std::function<Tensors()> make, std::optional<std::int64_t> size = std::nullopt);
  std::optional<std::int64_t> size() const override { return size_; }

 protected:
  Tensors make_tensors() override;

 private:
  std::function<Tensors()> make_;
  std::optional<std::int64_t> size_;
};

// The same values in every step, without any cost: to measure a model alone. Floats are uniform in [0, 1), integers 0.
// `shapes` gives the unknown dimensions; one per component, or none if the signature has no unknown dimension.
class DummyConstantInput final : public InputSource {
 public:
  explicit DummyConstantInput(std::vector<Shape> shapes = {}) : shapes_(std::move(shapes)) {}

 protected:
  Tensors make_tensors() override;

 private:
  std::vector<Shape> shapes_;
};

// Placeholders that the user feeds, in a run or through a hook.
class PlaceholderInput final : public InputSource {
 public:
  bool feed_free() const override { return false; }

 protected:
  Tensors make_tensors() override;
};

// Keeps a point per tower one step ahead: a step gets what an earlier run has put into staging areas, and puts in what
// the next one will get. `input` must be feed-free and not a StagingInput; not for inference. Empty areas are filled
// before a hooked run; a hooked run that depends on the input also stages the next points, for all towers or none, if
// all of these are ready. It does not wait for them: a step begins as soon as its own points are there, and where
// `input` ends the last points are used as usual, and nothing further is staged.
//
// What it gains: what graph ops make of the points (TensorInput) is computed in the run before, at the same time as the
// step. With a QueueInput it gains nothing, because that has read its points ahead and a step takes them without
// copying them; what is staged is copied (./bench --staging). So nothing is staged by default.
class StagingInput final : public InputSource {
 public:
  explicit StagingInput(InputSourcePtr input);
  std::string name() const override { return "StagingInput"; }
  std::optional<std::int64_t> size() const override { return input_->size(); }
  bool endless() const override { return input_->endless(); }
  bool staged() const override { return true; }
  void check_first_point() override { input_->check_first_point(); }
  void cancel_check() override { input_->cancel_check(); }
  void reset_state() override;

  struct State;

 protected:
  Callbacks make_callbacks() override;
  Tensors make_tensors() override;

 private:
  InputSourcePtr input_;
  std::shared_ptr<State> state_;
};

// An input whose components are these inputs of the signature, in this order; the others are placeholders.
InputSourcePtr remap_input(InputSourcePtr input, std::vector<std::string> names);

}  // namespace belfry
#pragma GCC visibility pop
