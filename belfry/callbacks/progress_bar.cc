#include "belfry/callbacks/progress_bar.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>

#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

constexpr double kInterval = 0.1;  // seconds between two drawings
constexpr int kWidth = 30;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void ProgressBar::setup_graph() {
  for (const std::string& name : options_.names) fetches_.emplace_back(trainer().get_tensor(name));
  terminal_ = isatty(fileno(options_.stream)) != 0;
}

void ProgressBar::before_epoch() {
  begin_ = now();
  last_drawn_ = 0;
}

HookRequest ProgressBar::before_run(const RunContext& context) {
  if (context.fetches.empty()) return {};
  return {.fetches = fetches_};
}

void ProgressBar::after_run(const RunContext&, const RunValues& values) {
  values_.clear();
  for (const Array& value : values) values_.push_back(value.elements() == 1 ? value.item() : 0);
}

std::string ProgressBar::text() const {
  const std::int64_t steps = trainer().steps_per_epoch();
  const double seconds = now() - begin_;
  const auto done = std::min(trainer().local_step() + (drawn_ || terminal_ ? 1 : 0), steps);
  std::string out = fmt::format("epoch {} ", trainer().epoch_num());
  if (terminal_) {
    const int filled = steps > 0 ? static_cast<int>(kWidth * done / steps) : kWidth;
    out += fmt::format("[{:=>{}}{:{}}] ", "", filled, "", kWidth - filled);
  }
  out += fmt::format("{}/{}", terminal_ ? done : steps, steps);
  if (seconds > 0) out += fmt::format("  {:.1f} steps/s", static_cast<double>(terminal_ ? done : steps) / seconds);
  for (std::size_t i = 0; i < values_.size(); ++i) out += fmt::format("  {} {:.4g}", options_.names[i], values_[i]);
  return out;
}

void ProgressBar::draw() {
  std::fputs(("\r" + text() + "\033[K").c_str(), options_.stream);
  std::fflush(options_.stream);
  drawn_ = true;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", options_.stream);
  drawn_ = false;
}

void ProgressBar::trigger_step() {
  if (!terminal_) return;
  const double time = now();
  if (time - last_drawn_ < kInterval) return;
  last_drawn_ = time;
  draw();
}

void ProgressBar::after_epoch() {
  clear();
  if (trainer().steps_per_epoch() == 0) return;
  std::fputs((text() + fmt::format("  {:.1f} s\n", now() - begin_)).c_str(), options_.stream);
  std::fflush(options_.stream);
}

void ProgressBar::after_train() { clear(); }

}  // namespace belfry
