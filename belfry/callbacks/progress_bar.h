// The line on the screen.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "belfry/loop/callback.h"

namespace belfry {

struct ProgressBarOptions {
  std::vector<std::string> names{};  // scalars to show, fetched along with every step
  std::FILE* stream = stderr;
};

// Where an epoch stands and how fast it goes; on a terminal a bar that is drawn anew ten times a second at most,
// elsewhere one line at the end of each epoch.
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

 private:
  std::string text() const;
  void draw();
  void clear();

  ProgressBarOptions options_;
  std::vector<Fetch> fetches_;
  std::vector<double> values_;
  bool terminal_ = false, drawn_ = false;
  double begin_ = 0, last_drawn_ = 0;
};

}  // namespace belfry
