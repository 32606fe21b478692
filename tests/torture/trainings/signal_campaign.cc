#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "tests/support/files.h"
#include "tests/torture/trainings/campaigns.h"
#include "tests/torture/trainings/child.h"

namespace belfry::torture {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using testing_support::TempDir;

// Long validations and slow data, so that a signal meets these as well as steps.
const TrainingOptions kKinds[] = {{.samples = 8}, {.samples = 20'000}, {.stall_ms = 3}};

}  // namespace

SignalCounts signal_campaign(int count, std::uint64_t seed) {
  SignalCounts counts;
  std::mt19937_64 random(seed);
  for (const TrainingOptions& kind : kKinds) {
    const TempDir whole;
    TrainingOptions options = kind;
    options.directory = whole / "run";
    const Clock::time_point began = Clock::now();
    if (Child(options).wait() != 0) throw std::runtime_error("a training without signals failed");
    const double lasts = Seconds(Clock::now() - began).count();
    const Result expected = result_in(options.directory);
    for (int i = 0; i < count / static_cast<int>(std::size(kKinds)); ++i) {
      const TempDir dir;
      options.directory = dir / "run";
      Child child(options);
      std::this_thread::sleep_for(Seconds(std::uniform_real_distribution<double>(0, lasts)(random)));
      child.send(SIGTERM);
      const Clock::time_point sent = Clock::now();
      const int status = child.wait();
      const double took = Seconds(Clock::now() - sent).count();
      ++counts.signals;
      const bool early = WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
      counts.early += early ? 1 : 0;
      if (!early && status != 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM)) {
        ++counts.wrong_exit;
        fmt::print(stderr, "a SIGTERM ended the process with status {}\n", status);
      }
      if (!early) counts.slowest_s = std::max(counts.slowest_s, took);
      const bool goes_on = Child(options).wait() == 0;
      const std::string differs = goes_on ? difference(expected, result_in(options.directory)) : "it does not go on";
      if (differs.empty()) continue;
      ++counts.inexact;
      fmt::print(stderr, "continued after a SIGTERM: {}\n", differs);
    }
  }
  return counts;
}

}  // namespace belfry::torture
