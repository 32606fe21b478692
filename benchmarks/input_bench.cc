// What it costs and gains to have the data ready before the step asks for them. Measured on mnist_cnn with a
// batch for which a step takes about 5 ms.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "benchmarks/hashed.h"
#include "benchmarks/modes.h"
#include "benchmarks/timed_steps.h"

namespace belfry::bench {
namespace {

constexpr double kStepSeconds = 5e-3;

Suite suite_of(std::int64_t batch) {
  Suite suite = make_mnist_cnn(true);
  suite.batches.clear();
  for (int b = 0; b < 4; ++b)
    suite.batches.push_back({hashed_images(b, batch, 1, 28, 28), hashed_labels(b, batch, 10)});
  return suite;
}

// Time is nearly linear in the batch size: two sizes give an estimate of the one that takes that long, and timing that
// one gives the correction.
std::int64_t fitting_batch(int threads) {
  constexpr std::int64_t kFew = 8, kMany = 40;
  const auto best = [&](std::int64_t batch) {
    const BareStep step(suite_of(batch), threads);
    double seconds = std::numeric_limits<double>::max();
    for (int r = 0; r < 5; ++r) seconds = std::min(seconds, step.seconds({.warmup = 2, .timed = 5}));
    return seconds;
  };
  const double few = best(kFew), each = std::max(1e-6, (best(kMany) - few) / (kMany - kFew));
  const auto corrected = [&](std::int64_t batch, double seconds) {
    return std::clamp(batch + static_cast<std::int64_t>((kStepSeconds - seconds) / each), std::int64_t{1},
                      std::int64_t{1024});
  };
  const std::int64_t guess = corrected(kFew, few);
  return corrected(guess, best(guess));
}

double trained_seconds(const Suite& suite, InputSourcePtr input, const StepCount& steps, int threads) {
  SimpleTrainer trainer;
  trainer.setup_graph(suite.signature, std::move(input), suite.cost, suite.optimizer);
  double seconds = 0;
  trainer.train({.callbacks = {TimedSteps(steps, seconds)},
                 .session_config = {.devices = {{threads}}},
                 .steps_per_epoch = steps.warmup + steps.timed,
                 .max_epoch = 1});
  return seconds;
}

// The points come one by one, each after this many seconds.
Flow slow_flow(const Suite& suite, double seconds) {
  return from_list(suite.batches) | map([seconds](DataPoint point) {
           std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
           return point;
         });
}

}  // namespace

void measure_input(const Options& o) {
  const LogMute quiet;
  const std::int64_t batch = fitting_batch(o.threads);
  const Suite suite = suite_of(batch);
  const StepCount steps{.warmup = o.warmup >= 1 ? o.warmup : 10, .timed = o.steps > 0 ? o.steps : 60};
  const BareStep bare_step(suite, o.threads);

  const double never = std::numeric_limits<double>::max();
  double bare = never, queue = never, slow_queue = never, slow_feed = never;
  const auto measure = [&](double& best, InputSourcePtr input) {
    best = std::min(best, trained_seconds(suite, std::move(input), steps, o.threads));
  };
  for (int r = 0; r < o.repeats_or(10); ++r) {
    bare = std::min(bare, bare_step.seconds(steps));
    measure(queue, QueueInput(from_list(suite.batches)));
    measure(slow_queue, QueueInput(slow_flow(suite, bare)));
    measure(slow_feed, FeedInput(slow_flow(suite, bare)));
  }
  const double queue_over_feed = slow_feed / slow_queue, overhead = (queue / bare - 1) * 100;
  if (o.json)
    fmt::print("{}\n", nlohmann::json{{"threads", o.threads},
                                      {"batch", batch},
                                      {"steps", steps.timed},
                                      {"repeats", o.repeats_or(10)},
                                      {"step_ms", bare * 1e3},
                                      {"queue_ms", queue * 1e3},
                                      {"slow_queue_ms", slow_queue * 1e3},
                                      {"slow_feed_ms", slow_feed * 1e3},
                                      {"queue_over_feed", queue_over_feed},
                                      {"feedfree_overhead", overhead}}
                           .dump());
  else
    fmt::print(
        "a step takes {:.3f} ms, through QueueInput {:.3f} ms: {:+.2f} %\n"
        "with data that take as long: QueueInput {:.3f} ms, FeedInput {:.3f} ms: {:.2f} times as fast\n",
        bare * 1e3, queue * 1e3, overhead, slow_queue * 1e3, slow_feed * 1e3, queue_over_feed);
}

}  // namespace belfry::bench
