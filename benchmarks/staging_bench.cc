// What it costs and gains to stage the points of several towers one step ahead, with data that are ready and with a
// source that is slow in bursts: it gives the points of several steps at once, and then none for longer than these
// steps take. Measured on mnist_cnn, with towers on two devices.
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

constexpr int kDevices = 2;
constexpr int kBurst = 8;            // steps whose points come at once
constexpr std::int64_t kBatch = 32;  // of a tower
constexpr double kPause = 1.5;       // in multiples of the time for a burst's steps

Suite suite_of_batches() {
  Suite suite = make_mnist_cnn(true);
  suite.batches.clear();
  for (int b = 0; b < 4; ++b)
    suite.batches.push_back({hashed_images(b, kBatch, 1, 28, 28), hashed_labels(b, kBatch, 10)});
  return suite;
}

// When each point left the source. The queue between the two threads orders what they do with one of them.
using Departures = std::vector<double>;

// `pause` seconds before each burst; none if it is 0.
Flow in_bursts(const Suite& suite, double pause, const std::shared_ptr<Departures>& departures) {
  return from_list(suite.batches) | repeat() |
         map([pause, departures, next = std::make_shared<std::size_t>(0)](DataPoint point) {
           const std::size_t index = (*next)++;
           if (pause > 0 && index % (kBurst * kDevices) == 0)
             std::this_thread::sleep_for(std::chrono::duration<double>(pause));
           if (index < departures->size()) (*departures)[index] = now();
           return point;
         });
}

struct Measured {
  double seconds = std::numeric_limits<double>::max();  // of a step
  double lag = seconds;  // from the last point of a burst to the end of the step that uses it, on average

  void improve(const Measured& other) {
    seconds = std::min(seconds, other.seconds);
    lag = std::min(lag, other.lag);
  }
};

// How long the last points of bursts wait to be used.
class Lag final : public Callback {
 public:
  Lag(std::shared_ptr<Departures> departures, double& mean) : departures_(std::move(departures)), mean_(mean) {}
  void trigger_step() override {
    const auto used = static_cast<std::size_t>(trainer().local_step() + 1) * kDevices;
    if (used % (kBurst * kDevices) != 0) return;
    sum_ += now() - (*departures_)[used - 1];
    mean_ = sum_ / ++count_;
  }

 private:
  std::shared_ptr<Departures> departures_;
  double& mean_;
  double sum_ = 0;
  int count_ = 0;
};

Measured train(const Suite& suite, double pause, bool staged, const StepCount& steps) {
  const int all = steps.warmup + steps.timed;
  const auto departures = std::make_shared<Departures>(static_cast<std::size_t>(all) * kDevices);
  InputSourcePtr input = QueueInput(in_bursts(suite, pause, departures));
  if (staged) input = StagingInput(std::move(input));
  SyncMultiDeviceTrainer trainer(cpu_devices(kDevices));
  trainer.setup_graph(suite.signature, std::move(input), suite.cost, suite.optimizer);
  Measured out;
  trainer.train({.callbacks = {TimedSteps(steps, out.seconds), Lag(departures, out.lag)},
                 .session_config = {.devices = std::vector<DeviceConfig>(kDevices, {1})},
                 .steps_per_epoch = all,
                 .max_epoch = 1});
  return out;
}

}  // namespace

void measure_staging(const Options& o) {
  const LogMute quiet;
  const Suite suite = suite_of_batches();
  // Whole bursts.
  const auto bursts = [](int wanted) { return (wanted + kBurst - 1) / kBurst * kBurst; };
  const StepCount steps{.warmup = bursts(std::max(o.warmup, 1)), .timed = bursts(o.steps > 0 ? o.steps : 12 * kBurst)};
  Measured queue, staging, slow_queue, slow_staging;
  double pause = 0;
  for (int r = 0; r < o.repeats_or(5); ++r) {
    queue.improve(train(suite, 0, false, steps));
    staging.improve(train(suite, 0, true, steps));
    if (pause == 0) pause = kPause * kBurst * queue.seconds;
    slow_queue.improve(train(suite, pause, false, steps));
    slow_staging.improve(train(suite, pause, true, steps));
  }
  const double cost = (staging.seconds / queue.seconds - 1) * 100;
  if (o.json)
    fmt::print("{}\n", nlohmann::json{{"devices", kDevices},
                                      {"batch", kBatch},
                                      {"steps", steps.timed},
                                      {"repeats", o.repeats_or(5)},
                                      {"burst_steps", kBurst},
                                      {"pause_ms", pause * 1e3},
                                      {"queue_ms", queue.seconds * 1e3},
                                      {"staging_ms", staging.seconds * 1e3},
                                      {"staging_overhead", cost},
                                      {"burst_queue_ms", slow_queue.seconds * 1e3},
                                      {"burst_staging_ms", slow_staging.seconds * 1e3},
                                      {"burst_queue_lag_ms", slow_queue.lag * 1e3},
                                      {"burst_staging_lag_ms", slow_staging.lag * 1e3}}
                           .dump());
  else
    fmt::print(
        "with data that are ready, a step takes {:.3f} ms with QueueInput, {:.3f} ms with StagingInput: {:+.2f} %\n"
        "with the points of {} steps every {:.0f} ms: QueueInput {:.3f} ms, StagingInput {:.3f} ms\n"
        "the last points of a burst are used {:.1f} ms later with QueueInput, {:.1f} ms later with StagingInput\n",
        queue.seconds * 1e3, staging.seconds * 1e3, cost, kBurst, pause * 1e3, slow_queue.seconds * 1e3,
        slow_staging.seconds * 1e3, slow_queue.lag * 1e3, slow_staging.lag * 1e3);
}

}  // namespace belfry::bench
