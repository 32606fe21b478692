// Checkpoints while training.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belfry/callbacks/reporting_saver.h"
#include "belfry/loop/callback.h"
#include "belfry/loop/training_state.h"

namespace belfry {

struct ModelSaverOptions {
  std::string directory{};  // default: the run's directory
  int keep = 10;            // newest ones; 0: all
  int max_failures = 3;     // so many saves that fail in a row end training
};

// Saves a checkpoint, model-<global_step>, at each trigger (once an epoch, unless a wrapper says otherwise), when all
// callbacks have had their turn: it holds what those behind this one have done too. Files are written while training
// goes on. A training that a signal ends is saved once more. A save that failed is reported when the
// next step has ended (see reporting_saver.h), and thrown if it was the last one of the training.
class ModelSaver final : public Callback {
 public:
  explicit ModelSaver(ModelSaverOptions options = {}) : options_(std::move(options)) {}
  void before_train() override;
  void trigger_step() override;
  void trigger() override;
  void after_train() override;
  std::vector<Written> writes() const override;

 private:
  void save();
  ModelSaverOptions options_;
  std::unique_ptr<ReportingSaver> saver_;
  std::int64_t saved_ = -1;  // the step of the last one
};

struct BestSaverOptions {
  std::string directory{};  // default: the run's directory
  std::string prefix{};     // default: min-<metric> or max-<metric>
  int max_failures = 3;     // so many saves that fail in a row end training
};

// Keeps the checkpoint with the best value of a metric that was put in the same epoch, before this callback's turn. If
// the first time there is none, that is an error at the end of the epoch, which says whether the metric is put later or
// never; after that, an epoch without a new value is only a warning. A NaN is never the best.
class BestSaver : public Callback {
 public:
  BestSaver(std::string metric, bool smallest, BestSaverOptions options);
  void before_train() override;
  void before_epoch() override;
  void trigger_step() override;
  void trigger() override;
  void after_train() override;
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
  std::optional<Best> best_;
  std::size_t count() const;  // values of the metric so far
  [[noreturn]] void fail_without_value() const;

  std::size_t seen_ = 0;  // of them, when this epoch began or at the last trigger
  bool found_ = false;    // there was a new value at some trigger
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
