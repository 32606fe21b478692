// Compares a trainer on several devices with the best it could reach, the same number of single-device processes side
// by side, which share only memory bandwidth; and with one device alone.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "benchmarks/modes.h"
#include "benchmarks/trainers.h"
#include "benchmarks/worker.h"

namespace belfry::bench {
namespace {

using Workers = std::vector<std::unique_ptr<Worker>>;

std::unique_ptr<Worker> start(const Options& o, const std::string& trainer, int devices) {
  std::vector<std::string> arguments{"--suite",     o.suite,
                                     "--threads",   std::to_string(o.threads),
                                     "--steps",     std::to_string(o.steps),
                                     "--warmup",    std::to_string(o.warmup),
                                     "--precision", o.precision,
                                     "--rounds"};
  if (o.recompute) arguments.emplace_back("--recompute");
  if (!trainer.empty()) arguments.insert(arguments.end(), {"--trainer", trainer, "--devices", std::to_string(devices)});
  return std::make_unique<Worker>(std::move(arguments));
}

// One round of all of them at the same time.
double items_per_s(const Workers& workers) {
  for (const auto& worker : workers) worker->start_round();
  double sum = 0;
  for (const auto& worker : workers) sum += worker->finish_round().items_per_s();
  return sum;
}

class LossOfEachStep final : public Callback {
 public:
  explicit LossOfEachStep(std::vector<Array>& losses) : losses_(losses) {}
  HookRequest before_run(const RunContext&) override { return {.fetches = {trainer().get_tensor("loss")}}; }
  void after_run(const RunContext&, const RunValues& values) override { losses_.push_back(values[0]); }

 private:
  std::vector<Array>& losses_;
};

// The first tower's.
void numerics(const Options& o) {
  const LogMute quiet;
  const Suite suite = make_suite(o.suite, {.dropout = false, .recompute = o.recompute});
  const auto trainer = make_suite_trainer(suite, o.trainer, o.devices);
  std::vector<Array> losses;
  prepare(*trainer, suite, {LossOfEachStep(losses)}, o);
  trainer->main_loop({.steps_per_epoch = o.steps_of(suite), .max_epoch = 1});
  print_losses(suite, losses, o);
}

// The first epoch is for warming up.
class ProfiledEpoch final : public Callback {
 public:
  explicit ProfiledEpoch(double& seconds) : seconds_(seconds) {}
  void before_epoch() override {
    trainer().session().clear_profile();
    begin_ = now();
  }
  void after_epoch() override { seconds_ = now() - begin_; }

 private:
  double& seconds_;
  double begin_ = 0;
};

void limit(const Options& o) {
  const LogMute quiet;
  const Suite suite = make_suite(o.suite, {.recompute = o.recompute});
  const auto trainer = make_suite_trainer(suite, o.trainer, o.devices);
  double seconds = 0;
  prepare(*trainer, suite, {ProfiledEpoch(seconds)}, o);
  trainer->main_loop({.steps_per_epoch = o.steps_of(suite), .max_epoch = 2});
  print_profile(suite, trainer->session(), {.steps = o.steps_of(suite), .seconds = seconds}, o);
}

}  // namespace

void measure_trainer(const Options& o) {
  if (o.limit) return limit(o);
  if (o.numerics) return numerics(o);
  Workers trainer, single, independent;
  trainer.push_back(start(o, o.trainer, o.devices));
  single.push_back(start(o, "simple", 1));
  for (int i = 0; i < o.devices; ++i) independent.push_back(start(o, "", 1));
  for (const Workers* workers : {&trainer, &single, &independent})
    for (const auto& worker : *workers) worker->wait_until_ready();

  // The best of each: other programs on the machine can only slow a round down.
  double best = 0, best_single = 0, ceiling = 0;
  for (int r = 0; r < o.repeats_or(5); ++r) {
    ceiling = std::max(ceiling, items_per_s(independent));
    best = std::max(best, items_per_s(trainer));
    best_single = std::max(best_single, items_per_s(single));
  }
  const nlohmann::json line{{"suite", o.suite},
                            {"trainer", o.trainer},
                            {"devices", o.devices},
                            {"threads", o.threads},
                            {"precision", o.precision},
                            {"repeats", o.repeats_or(5)},
                            {"items_per_s", best},
                            {"items_per_s_single", best_single},
                            {"items_per_s_ceiling", ceiling},
                            {"scaling", best / best_single},
                            {"of_ceiling", best / ceiling}};
  if (o.json)
    fmt::print("{}\n", line.dump());
  else
    fmt::print("{:16} {} on {} devices of {} threads  {:.1f} items/s  {:.3f} of one device  {:.3f} of {} processes\n",
               o.suite, o.trainer, o.devices, o.threads, best, best / best_single, best / ceiling, o.devices);
}

}  // namespace belfry::bench
