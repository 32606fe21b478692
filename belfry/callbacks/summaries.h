// Puts the numbers of the collections that add_moving_summary() and add_summary() fill into the monitors. Names lose
// the prefix of the main tower.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "belfry/graph/collections.h"
#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

struct MovingAverageOptions {
  double decay = 0.95;
  std::string collection = std::string(collection::kMovingSummaries);
};

// The moving average over the steps of every scalar in MOVING_SUMMARIES (or another collection); put at the end of each
// epoch, before any trigger_epoch(). There is no bias to 0: the average after one step is that step's value.
class MovingAverageSummary final : public Callback {
 public:
  explicit MovingAverageSummary(MovingAverageOptions options = {});
  void setup_graph() override;
  bool declares_metrics() const override { return true; }
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
  std::int64_t every_k_steps = 0;  // of global_step; 0: with the last hooked run of each epoch
  // In a separate run after the step, which takes a point of the data. For summaries that would make the steps slower
  // or need more memory if fetched in them.
  bool run_alone = false;
  std::string collection = std::string(collection::kSummaries);
};

// The values of SUMMARIES (or another collection), fetched along with the last step of an epoch and put in
// after_epoch(), so that they are there before any trigger_epoch(); or along with every k-th step. A scalar is put
// unchanged; for any other tensor, its mean and its root mean square are put.
//
// If iterations have no hooked run or several, the last run of an epoch is predicted from the longest distance between
// two runs so far.
class MergeAllSummaries final : public Callback {
 public:
  explicit MergeAllSummaries(MergeAllSummariesOptions options = {});
  void setup_graph() override;
  bool declares_metrics() const override { return true; }
  HookRequest before_run(const RunContext& context) override;
  void after_run(const RunContext& context, const RunValues& values) override;
  void trigger_step() override;
  void after_epoch() override;
  std::string state() const override;
  void restore(const std::string& state) override;

 private:
  using Numbers = std::map<std::string, double>;  // by metric
  bool wanted();
  Numbers numbers_of(const RunValues& values) const;
  void put(const Numbers& numbers);
  MergeAllSummariesOptions options_;
  std::vector<std::string> names_;
  std::vector<Fetch> fetches_;
  bool due_ = false;                      // a k-th step was reached but has given no values yet
  bool asked_ = false;                    // in the current run
  Numbers latest_;                        // of this epoch, to be put at its end
  std::optional<std::int64_t> last_run_;  // the iteration of the last hooked run of a step
  std::int64_t longest_way_ = 1;          // in iterations, from one such run to the next
};

}  // namespace belfry
#pragma GCC visibility pop
