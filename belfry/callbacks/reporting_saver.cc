#include "belfry/callbacks/reporting_saver.h"

#include <algorithm>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/loop/trainer.h"

namespace belfry {

void ReportingSaver::check(const std::string& name, const SaverOptions& options, int max_failures) {
  BELFRY_CHECK(max_failures >= 1, "[{}] expected max_failures of 1 or more, got {}.", name, max_failures);
  check_saver_options(options);
}

ReportingSaver::ReportingSaver(Trainer& trainer, std::string name, SaverOptions options, int max_failures)
    : trainer_(trainer),
      name_(std::move(name)),
      prefix_(options.prefix),
      metric_("failed_saves/" + options.prefix),
      max_failures_(max_failures),
      saver_(trainer.session(), std::move(options)) {}

void ReportingSaver::save(const std::map<std::string, std::string>& notes) {
  wait();
  std::optional<CheckpointState> state;
  try {
    state = training_state(trainer_);
    state->user.insert(notes.begin(), notes.end());
  } catch (const FileError& error) {
    return report(error.what());
  }
  pending_ = true;
  const std::string history = trainer_.monitors().history_file();
  saver_.save(trainer_.global_step(), *std::move(state),
              {.after = history.empty() ? std::vector<std::string>() : std::vector{history}});
}

void ReportingSaver::look() {
  if (!pending_) return;
  try {
    pending_ = !saver_.poll();
    if (!pending_) in_a_row_ = 0;
  } catch (const FileError& error) {
    report(error.what());
  }
}

void ReportingSaver::wait() {
  try {
    finish();
  } catch (const FileError& error) {
    report(error.what());
  }
}

void ReportingSaver::finish() {
  if (!pending_) return;
  saver_.wait();
  pending_ = false;
  in_a_row_ = 0;
}

std::string ReportingSaver::last() {
  const std::vector<std::string> kept = saver_.checkpoints();
  return kept.empty() ? "" : kept.back();
}

bool ReportingSaver::has_saved(std::int64_t step) {
  const std::string name = fmt::format("/{}-{}.safetensors", prefix_, step);
  return std::ranges::any_of(saver_.checkpoints(), [&](const std::string& file) { return file.ends_with(name); });
}

void ReportingSaver::report(const std::string& problem) {
  pending_ = false;
  ++in_a_row_;
  log_error(fmt::format("[{}] {} (failure {} in a row; {} end training)", name_, problem, in_a_row_, max_failures_));
  trainer_.monitors().put_scalar(metric_, ++all_);
  BELFRY_CHECK_AS(FileError, in_a_row_ < max_failures_,
                  "[{}] expected to save, got {} failures in a row, the last one: {}", name_, in_a_row_, problem);
}

}  // namespace belfry
