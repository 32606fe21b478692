// Checkpoints while training.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/callbacks/reporting_saver.h"
#include "belfry/loop/callback.h"
#include "belfry/loop/training_state.h"

#pragma GCC visibility push(default)
namespace belfry {

struct ModelSaverOptions {
  std::string directory{};  // default: the run's directory
  int keep = 10;            // newest ones; 0: all
  int max_failures = 3;     // so many saves that fail in a row end training
  // Also a model that is broken: NaN in any variable, or infinity in a trainable one or in an optimizer's slot.
  bool save_broken = false;
};

// Saves a checkpoint, model-<global_step>, at each trigger (once an epoch, unless a wrapper says otherwise), when all
// callbacks have had their turn: it holds what those behind this one have done too. Files are written while training
// goes on. A training that a signal ends is saved once more, if it has done a step. A save that failed is reported when
// the next step has ended (see reporting_saver.h), and thrown if it was the last one of the training. A model that is
// broken is not saved, and no good one is removed for it; the log says so.
class ModelSaver final : public Callback {
 public:
  explicit ModelSaver(ModelSaverOptions options = {}) : options_(std::move(options)) {}
  void before_train() override;
  void trigger_step() override;
  void trigger() override;
  void after_train() override;
  std::vector<Written> writes() const override;
  bool declares_metrics() const override { return true; }

 private:
  void save();
  ModelSaverOptions options_;
  std::unique_ptr<ReportingSaver> saver_;
  std::int64_t saved_ = -1;                        // the step of the last one
  std::pair<std::int64_t, std::int64_t> began_{};  // global_step and iteration before the first step
};

struct BestSaverOptions {
  std::string directory{};  // default: the run's directory
  std::string prefix{};     // default: min-<metric> or max-<metric>
  int max_failures = 3;     // so many saves that fail in a row end training
};

// Keeps the checkpoint with the best value of a metric. It looks when all callbacks have had their turn, so its place
// in the list does not matter, and what is saved is what the value was measured with: of a metric that is put at other
// times, the last value since its previous turn counts, with a warning that says of which step it is. A turn without a
// new value saves nothing and says so once. A metric that nobody will put is an error before training (see
// Monitors::expect()); one that never came is reported at the end. A NaN is never the best, and a model that is broken
// is not saved, as by ModelSaver. Nor is a value whose save failed the best: the next one that is better than what was
// saved before it is saved.
class BestSaver : public Callback {
 public:
  BestSaver(std::string metric, bool smallest, BestSaverOptions options);
  void before_train() override;
  void before_epoch() override;
  void trigger_step() override;
  void trigger() override;
  void after_train() override;
  bool declares_metrics() const override { return true; }
  std::string state() const override;
  void restore(const std::string& state) override;
  std::vector<Written> writes() const override;

  struct Best {
    double value = 0;
    std::int64_t step = 0;
  };
  const std::optional<Best>& best() const { return best_; }

 private:
  std::string metric_;
  bool smallest_;
  BestSaverOptions options_;
  std::unique_ptr<ReportingSaver> saver_;
  std::optional<Best> best_, saved_;  // with the save that is being written, and without it
  std::size_t count() const;          // values of the metric so far
  void begin(const SaverOptions& files);
  void look();
  void save();
  bool beats(double value, const std::optional<Best>& other) const;
  void note_saved();
  void say_without_value();
  void say_of_another_step(std::int64_t step);

  std::size_t seen_ = 0;  // of them, at the previous turn, or before the first epoch
  bool began_ = false;    // seen_ is known
  bool found_ = false;    // there was a new value at some turn
  bool said_none_ = false, said_step_ = false;
};

class MinSaver final : public BestSaver {
 public:
  explicit MinSaver(std::string metric, BestSaverOptions options = {})
      : BestSaver(std::move(metric), true, std::move(options)) {}
};
class MaxSaver final : public BestSaver {
 public:
  explicit MaxSaver(std::string metric, BestSaverOptions options = {})
      : BestSaver(std::move(metric), false, std::move(options)) {}
};

}  // namespace belfry
#pragma GCC visibility pop
