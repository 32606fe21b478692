// Checkpoints while training.
#pragma once

#include <map>
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
  std::string directory{};        // default: the run's directory
  int keep = 10;                  // newest ones; 0: all
  double keep_every_hours = 0;    // besides the newest, one every so many hours stays for good; 0: none
  std::uint64_t shard_bytes = 0;  // larger checkpoints are several files of at most this much; 0: one file
  int max_failures = 3;           // this many failed saves in a row end training
  // Save even a broken model: one with NaN in any variable, or infinity in a trainable one or in an optimizer's slot.
  bool save_broken = false;
};

// Saves a checkpoint, model-<global_step>, at each trigger (once per epoch, unless a wrapper says otherwise), after all
// callbacks were called: it includes what those after this one have done. Files are written while training continues. A
// training that a signal ends is saved once more, if it has done a step. A failed save is reported when the next step
// has ended (see reporting_saver.h), and thrown if it was the last one of the training. A broken model is not saved,
// and no good one is removed for it; the log says so.
class ModelSaver final : public Callback {
 public:
  explicit ModelSaver(ModelSaverOptions options = {}) : options_(std::move(options)) {}
  void before_train() override;
  void trigger_step() override;
  void trigger() override;
  void after_train() override;
  void defer_again() override { trigger(); }
  void save_now() override { trigger(); }
  void finish_saves() override;
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
  int max_failures = 3;     // this many failed saves in a row end training
};

// Keeps the checkpoint with the best value of a metric. It checks the metric after all callbacks were called, so its
// place in the list does not matter, and what is saved is what the value was measured with. Of a metric that is put at
// other times, the last value since the previous check counts, with a warning that gives its step. A check without a
// new value saves nothing and logs that once. A metric that no callback will put is an error before training (see
// Monitors::expect()); one that was never put is reported at the end. A NaN is never the best, and a broken model is
// not saved, as with ModelSaver. A value whose save failed does not count as the best either: the next one that is
// better than the best saved value is saved.
class BestSaver : public Callback {
 public:
  BestSaver(std::string metric, bool smallest, BestSaverOptions options);
  void before_train() override;
  void before_epoch() override;
  void trigger_step() override;
  void trigger() override;
  void after_train() override;
  void defer_again() override { trigger(); }
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
  std::optional<Best> best_, saved_;  // including the save that is being written, and without it
  // What the directory holds, if that is from a run that went further than the checkpoint that this one continues, or
  // if this one does not know its own best value: no worse one replaces it.
  std::optional<Best> on_disk_;
  std::size_t count() const;  // values of the metric so far
  void begin(const SaverOptions& files);
  void look();
  void find_on_disk();
  std::map<std::string, std::string> note() const;
  void save();
  bool beats(double value, const std::optional<Best>& other) const;
  void note_saved();
  void say_without_value();
  void say_of_another_step(std::int64_t step);

  std::size_t seen_ = 0;  // of them, at the previous check, or before the first epoch
  bool began_ = false;    // seen_ is known
  bool found_ = false;    // some check found a new value
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
