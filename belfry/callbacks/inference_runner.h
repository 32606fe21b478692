// Inference on a validation set, once per epoch.
//
//   InferenceRunner(fashion_mnist("test") | batch(256, Remainder::keep),
//                   {ScalarStats("cross_entropy"), ClassificationError("incorrect")})
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belfry/dataflow/flow.h"
#include "belfry/engine/data_queue.h"
#include "belfry/graph/device.h"
#include "belfry/input/input_source.h"
#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

// Says what to fetch for each datapoint, and computes metrics from the values.
class Inferencer {
 public:
  Inferencer() = default;
  virtual ~Inferencer() = default;
  Inferencer(Inferencer&&) = default;
  Inferencer& operator=(Inferencer&&) = default;

  virtual std::vector<std::string> fetches() const = 0;  // names as in the tower function
  // Gets those tensors when the graph is set up; throws if it cannot use them.
  virtual void check(const Tensors& /*fetches*/) const {}
  // The names that after_inference() will return, if they are known in advance.
  virtual std::optional<std::vector<std::string>> metrics() const { return std::nullopt; }
  virtual void before_inference() {}
  virtual void on_fetches(const std::vector<Array>& values) = 0;  // of one datapoint, in the order of fetches()
  virtual std::map<std::string, double> after_inference() = 0;    // what goes to the monitors
};
using Inferencers = std::vector<Handle<Inferencer>>;

// Means of tensors by name: <prefix>_<name>. ScalarStats and ExampleStats say what the mean is over.
class MeanStats : public Inferencer {
 public:
  explicit MeanStats(std::string name, std::string prefix = "validation")
      : MeanStats(std::vector<std::string>{std::move(name)}, std::move(prefix)) {}
  explicit MeanStats(std::vector<std::string> names, std::string prefix = "validation")
      : names_(std::move(names)), prefix_(std::move(prefix)) {}
  // For ScalarStats({"cost", "accuracy"}), which could otherwise also mean a string made from two pointers, or a
  // ScalarStats of name and prefix. Not an initializer_list: ScalarStats{"cost", "test"} is still one name and a
  // prefix.
  template <std::convertible_to<std::string> Name, std::size_t count>
  explicit MeanStats(const Name (&names)[count], std::string prefix = "validation")
      : MeanStats(std::vector<std::string>(names, names + count), std::move(prefix)) {}
  std::vector<std::string> fetches() const override { return names_; }
  void check(const Tensors& fetches) const override = 0;
  std::optional<std::vector<std::string>> metrics() const override;
  void before_inference() override;
  void on_fetches(const std::vector<Array>& values) override;
  std::map<std::string, double> after_inference() override;

 protected:
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Sum {
    double of = 0;
    std::int64_t count = 0;
  };
  std::string metric_of(const std::string& name) const { return prefix_.empty() ? name : prefix_ + "_" + name; }
  std::vector<std::string> names_;
  std::string prefix_;
  std::vector<Sum> sums_;  // by name
};

// The mean of scalars over datapoints, with equal weights.
class ScalarStats final : public MeanStats {
 public:
  using MeanStats::MeanStats;
  void check(const Tensors& fetches) const override;
};

// The mean over all examples, given vectors with a number for each. Exact, also where the last batch is smaller.
class ExampleStats final : public MeanStats {
 public:
  using MeanStats::MeanStats;
  void check(const Tensors& fetches) const override;
};

// The fraction of examples that are wrong, given a vector with 1 for each wrong one (prediction_incorrect()). Exact,
// also where the last batch is smaller.
class ClassificationError final : public Inferencer {
 public:
  explicit ClassificationError(std::string name = "incorrect", std::string metric = "validation_error")
      : name_(std::move(name)), metric_(std::move(metric)) {}
  std::vector<std::string> fetches() const override { return {name_}; }
  void check(const Tensors& fetches) const override;
  std::optional<std::vector<std::string>> metrics() const override { return std::vector{metric_}; }
  void before_inference() override;
  void on_fetches(const std::vector<Array>& values) override;
  std::map<std::string, double> after_inference() override;

 private:
  std::string name_, metric_;
  double wrong_ = 0;
  std::int64_t count_ = 0;
};

struct InferenceRunnerOptions {
  std::string tower_name{};  // default: "inference_tower", with a number if that exists already
  Device device{};           // default: the trainer's first
  // Read the first datapoint before training, check it against the signature, and keep it for the first pass. Turn it
  // off for a flow whose first point takes long, say.
  bool check_first_point = true;
};

// Builds an inference tower from the trainer's tower function with a separate input, and at each trigger runs it over
// one pass of the data, from its start; a pass that ends before the input's size() is an error. These runs are not
// steps: only this input and these inferencers take part. If training is interrupted, a pass ends between two
// datapoints and puts no numbers. Except for the first datapoint, nothing is read before the first trigger. Several
// runners need names for their numbers, ScalarStats("cost", "test"): two that put the same name are an error, before
// training if metrics() gives the names.
class InferenceRunner final : public Callback {
 public:
  // A thread reads a flow ahead, one pass at a time. An input must end, or know its size, and must not be a
  // StagingInput.
  InferenceRunner(Flow flow, Inferencers inferencers, InferenceRunnerOptions options = {});
  InferenceRunner(InputSourcePtr input, Inferencers inferencers, InferenceRunnerOptions options = {});
  void attach(Trainer& trainer) override;
  void setup_graph() override;
  void before_train() override;
  void trigger() override;
  void after_train() override;
  bool declares_metrics() const override;

 private:
  class Pass;
  void restart_input();
  InputSourcePtr input_;
  Inferencers inferencers_;
  InferenceRunnerOptions options_;
  Callbacks callbacks_;                                // the input's
  std::vector<std::vector<Fetch>> fetches_;            // by inferencer
  Tensors inputs_;                                     // of the tower
  std::vector<std::shared_ptr<DataQueue>> queues_;     // from which these are taken
  std::shared_ptr<const DataQueue::Refusal> refusal_;  // given to them between two passes
  std::unique_ptr<HookedSession> session_;
  bool started_ = false;
};

}  // namespace belfry
#pragma GCC visibility pop
