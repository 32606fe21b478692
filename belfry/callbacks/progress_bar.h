// The progress line on the screen.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "belfry/base/progress_line.h"
#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

struct ProgressBarOptions {
  std::vector<std::string> names{};  // scalars to show, fetched along with the steps after which they are shown
  std::FILE* stream = stderr;
  std::optional<bool> bar{};  // default: whether the stream is a terminal
};

// The progress of an epoch, its speed and the time left; on a terminal a bar that is redrawn at most ten times per
// second, elsewhere one line at the end of each epoch.
class ProgressBar final : public Callback {
 public:
  explicit ProgressBar(ProgressBarOptions options = {}) : options_(std::move(options)) {}
  void setup_graph() override;
  void before_epoch() override;
  HookRequest before_run(const RunContext& context) override;
  void after_run(const RunContext& context, const RunValues& values) override;
  void trigger_step() override;
  void after_epoch() override;
  void after_train() override;
  bool declares_metrics() const override { return true; }

 private:
  bool last_step() const;
  bool due() const;  // whether to draw after the step that runs
  std::string shown(std::int64_t done) const;

  ProgressBarOptions options_;
  std::vector<Fetch> fetches_;
  std::vector<double> values_;
  std::optional<ProgressLine> line_;  // from setup_graph() on
  double begin_ = 0;                  // seconds
};

}  // namespace belfry
#pragma GCC visibility pop
