#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/support/files.h"
#include "tests/torture/trainings/campaigns.h"
#include "tests/torture/trainings/child.h"

namespace belfry::torture {
namespace {

using testing_support::TempDir;

bool is_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

Result whole(const std::string& optimizer, const std::string& trainer) {
  const TempDir dir;
  const TrainingOptions options{.directory = dir / "run", .optimizer = optimizer, .trainer = trainer};
  if (Child(options).wait() != 0) throw std::runtime_error("a training that is not killed failed");
  return result_in(options.directory);
}

// Killed at each of the steps in turn, and then left alone. Says what differs, if anything does.
std::string killed(const Result& expected, TrainingOptions options, const std::vector<std::int64_t>& steps,
                   const std::string& without = "") {
  const TempDir dir;
  options.directory = dir / "run";
  for (const std::int64_t step : steps) {
    options.kill_at = step;
    if (!is_killed(Child(options).wait())) return "the process was not killed";
  }
  options.kill_at = 0;
  options.without = without;
  if (Child(options).wait() != 0) return "the continued training failed";
  return difference(expected, result_in(options.directory));
}

void kill_at_each_step(const std::string& optimizer, const std::string& trainer, int most, ResumeCounts& counts) {
  const Result expected = whole(optimizer, trainer);
  for (std::int64_t step = 1; step <= kSteps && counts.resumes < most; ++step) {
    ++counts.resumes;
    const std::string differs = killed(expected, {.optimizer = optimizer, .trainer = trainer}, {step});
    if (differs.empty()) continue;
    ++counts.inexact;
    fmt::print(stderr, "{} {}, killed at step {}: {}\n", optimizer, trainer, step, differs);
  }
}

void kill_often(ResumeCounts& counts) {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 2; step <= kSteps; step += 2) steps.push_back(step);
  counts.resumes += static_cast<int>(steps.size());
  const std::string differs = killed(whole("adam", "simple"), {}, steps);
  if (differs.empty()) return;
  ++counts.inexact;
  fmt::print(stderr, "killed {} times: {}\n", steps.size(), differs);
}

void leave_out_parts(ResumeCounts& counts) {
  const Result expected = whole("adam", "simple");
  for (const std::string& part : parts()) {
    ++counts.controls;
    if (!killed(expected, {}, {23}, part).empty()) continue;
    ++counts.blind;
    fmt::print(stderr, "nothing differs although '{}' was not restored\n", part);
  }
}

}  // namespace

ResumeCounts resume_campaign(int most) {
  ResumeCounts counts;
  for (const char* optimizer : {"sgd", "momentum", "adam"})
    for (const char* trainer : {"simple", "ps", "replicated"}) kill_at_each_step(optimizer, trainer, most, counts);
  kill_at_each_step("adam", "gan", most, counts);
  if (most == 0) return counts;
  kill_often(counts);
  leave_out_parts(counts);
  return counts;
}

}  // namespace belfry::torture
