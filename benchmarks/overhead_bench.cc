// What a trainer's loop costs with everything that train_with_defaults() adds, compared to the bare step of the same
// model: mlp, whose step is short, with its loss as a summary. Both have their data in variables.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "benchmarks/modes.h"
#include "benchmarks/timed_steps.h"
#include "tools/scratch_directory.h"

namespace belfry::bench {
namespace {

// Discards stderr, the progress and log of a training, while it exists.
class NoStderr {
 public:
  NoStderr() : kept_(dup(STDERR_FILENO)) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
  }
  ~NoStderr() {
    std::fflush(stderr);
    dup2(kept_, STDERR_FILENO);
    close(kept_);
  }
  NoStderr(const NoStderr&) = delete;
  NoStderr& operator=(const NoStderr&) = delete;

 private:
  int kept_;
};

Suite suite_with_summary() {
  Suite suite = make_mlp();
  suite.cost = [cost = suite.cost](const Inputs& in) {
    const Tensor loss = cost(in);
    add_moving_summary({loss});
    return loss;
  };
  return suite;
}

double trained_seconds(const Suite& suite, const StepCount& steps, int threads) {
  const tools::ScratchDirectory directory;
  const NoStderr quiet;
  SimpleTrainer trainer;
  trainer.setup_graph(suite.signature, TensorInput([&] { return waiting_inputs(suite); }), suite.cost, suite.optimizer);
  double seconds = 0;
  trainer.train_with_defaults({.callbacks = {TimedSteps(steps, seconds)},
                               .session_config = {.devices = {{threads}}},
                               .steps_per_epoch = steps.warmup + steps.timed,
                               .max_epoch = 1,
                               .run_dir = directory.path()});
  return seconds;
}

}  // namespace

void measure_overhead(const Options& o) {
  const Suite suite = suite_with_summary();
  const StepCount steps{.warmup = std::max(1, o.warmup_of(suite)), .timed = o.steps > 0 ? o.steps : 2000};
  const BareStep bare_step(suite, o.threads);
  double bare = std::numeric_limits<double>::max(), trained = bare;
  for (int r = 0; r < o.repeats_or(15); ++r) {
    bare = std::min(bare, bare_step.seconds(steps));
    trained = std::min(trained, trained_seconds(suite, steps, o.threads));
  }
  const double us = (trained - bare) * 1e6, percent = (trained / bare - 1) * 100;
  if (o.json)
    fmt::print("{}\n", nlohmann::json{{"suite", suite.name},
                                      {"threads", o.threads},
                                      {"steps", steps.timed},
                                      {"repeats", o.repeats_or(15)},
                                      {"step_us", bare * 1e6},
                                      {"trainer_step_us", trained * 1e6},
                                      {"trainer_us", us},
                                      {"trainer_percent", percent}}
                           .dump());
  else
    fmt::print("{}: a bare step takes {:.1f} us, through SimpleTrainer {:.1f} us: {:+.1f} us, {:+.1f} %\n", suite.name,
               bare * 1e6, trained * 1e6, us, percent);
}

}  // namespace belfry::bench
