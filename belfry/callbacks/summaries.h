// Training's own numbers: from the collections that add_moving_summary() and add_summary() fill to the monitors. Names
// lose the prefix of the main tower.
#pragma once

#include <string>
#include <vector>

#include "belfry/graph/collections.h"
#include "belfry/loop/callback.h"

namespace belfry {

struct MovingAverageOptions {
  double decay = 0.95;
  std::string collection = std::string(collection::kMovingSummaries);
};

// The moving average over the steps of every scalar in MOVING_SUMMARIES (or another collection); put at the end of each
// epoch, before any trigger_epoch(). The first steps count fully: an average of one step is that step's value.
class MovingAverageSummary final : public Callback {
 public:
  explicit MovingAverageSummary(MovingAverageOptions options = {});
  void setup_graph() override;
  HookRequest before_run(const RunContext& context) override;
  void after_run(const RunContext& context, const RunValues& values) override;
  void after_epoch() override;
  std::string state() const override;
  void restore(const std::string& state) override;

 private:
  MovingAverageOptions options_;
  std::vector<std::string> names_;
  std::vector<Fetch> fetches_;
  std::vector<double> sums_;  // weighted, not yet divided by weight_
  double weight_ = 0;
};

struct MergeAllSummariesOptions {
  std::int64_t every_k_steps = 0;  // of global_step; 0: with the last step of each epoch
  // In a run of their own after the step, which takes a point of the data. For summaries that would make steps slower,
  // or need more memory, along with them.
  bool run_alone = false;
  std::string collection = std::string(collection::kSummaries);
};

// The values of SUMMARIES (or another collection), fetched along with the last step of an epoch (or every k-th step),
// so that they are there before any trigger_epoch(): a scalar as it is, of any other tensor its mean and its root mean
// square.
class MergeAllSummaries final : public Callback {
 public:
  explicit MergeAllSummaries(MergeAllSummariesOptions options = {});
  void setup_graph() override;
  HookRequest before_run(const RunContext& context) override;
  void after_run(const RunContext& context, const RunValues& values) override;
  void trigger_step() override;
  void after_epoch() override;

 private:
  void put(const RunValues& values);
  MergeAllSummariesOptions options_;
  std::vector<std::string> names_;
  std::vector<Fetch> fetches_;
  bool asked_ = false;  // in the current run
};

}  // namespace belfry
