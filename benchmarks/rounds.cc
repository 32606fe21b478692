// Timing on command, so that processes can be measured side by side or in turns: prints "ready" when everything is
// warm; then for each line on stdin runs one round of steps, and answers with the items trained and the seconds.
//
// A round begins with an untimed step, which fills the caches that other processes have used. A round of the plain step
// also ends with one: others that run beside it are still being timed.
#include <fmt/core.h>

#include <iostream>

#include "benchmarks/modes.h"
#include "benchmarks/plain_step.h"
#include "benchmarks/trainers.h"

namespace belfry::bench {
namespace {

void answer(std::string_view text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

bool next_round() {
  std::string line;
  return static_cast<bool>(std::getline(std::cin, line));
}

void plain_rounds(const Suite& suite, const Options& options) {
  const PlainStep plain = make_plain_step(suite);
  Session session(*plain.graph, {.devices = {{options.threads}}, .precision = options.session_precision()});
  session.initialize();
  fill_parameters(suite, session);
  const auto step = session.make_callable({plain.loss, plain.train}, plain.inputs);
  int k = 0;
  const auto run = [&](int count) {
    for (const int end = k + count; k < end; ++k) step(batch_of(suite, k));
  };
  run(options.warmup_of(suite));
  answer("ready");
  const int steps = options.round_of(suite);
  while (next_round()) {
    run(1);
    const double begin = now();
    run(steps);
    const double seconds = now() - begin;
    run(1);
    answer(fmt::format("{} {}", suite.items * steps, seconds));
  }
}

// An epoch is a round; the first one is for warming up. It waits for the next one while towers that run independently
// pause: between after_epoch() and the next before_epoch().
class TimedEpochs final : public Callback {
 public:
  TimedEpochs(const Suite& suite, const Options& options, const TowerTrainer& trainer)
      : suite_(suite), options_(options), towers_(trainer) {}

  // For towers that do not wait for each other, the clock starts with all of them, and steps that the others have only
  // begun at the end do not count: the best round is the one with the least of that. Started in the middle of their
  // steps, the clock would count work that was done before.
  void before_epoch() override { mark(begin_); }
  void trigger_step() override {
    if (trainer().local_step() == 0 && options_.trainer != "async") mark(begin_);
    if (trainer().local_step() + 1 == trainer().steps_per_epoch()) mark(end_);
  }
  void trigger() override {
    if (trainer().epoch_num() == 1)
      answer("ready");
    else
      answer(fmt::format("{} {}", suite_.items * (end_.steps - begin_.steps), end_.seconds - begin_.seconds));
    if (!next_round()) throw StopTraining("there are no more rounds");
  }

 private:
  struct Mark {
    double seconds = 0;
    std::int64_t steps = 0;  // of all towers
  };
  void mark(Mark& at) const { at = {.seconds = now(), .steps = towers_.tower_steps()}; }

  const Suite& suite_;
  const Options& options_;
  const TowerTrainer& towers_;
  Mark begin_, end_;
};

void trainer_rounds(const Suite& suite, const Options& options) {
  const auto trainer = make_suite_trainer(suite, options.trainer, options.devices);
  prepare(*trainer, suite, {TimedEpochs(suite, options, *trainer)}, options);
  trainer->main_loop({.steps_per_epoch = 1 + options.round_of(suite)});
}

}  // namespace

void measure_rounds(const Options& options) {
  const LogMute quiet;
  const Suite suite = make_suite(options.suite, {.recompute = options.recompute});
  options.trainer.empty() ? plain_rounds(suite, options) : trainer_rounds(suite, options);
}

}  // namespace belfry::bench
