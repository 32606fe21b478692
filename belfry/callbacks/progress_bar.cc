#include "belfry/callbacks/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "belfry/base/check.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

constexpr double kInterval = 0.1;  // seconds between two drawings
constexpr int kWidth = 30;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A line that is longer than the terminal is wide would be drawn below itself again and again.
std::size_t columns_of(std::FILE* stream) {
  winsize size{};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 200u;
}

// "0:07", "12:34", "1:02:03".
std::string clock(double seconds) {
  const auto all = static_cast<std::int64_t>(seconds + 0.5);
  if (all < 3600) return fmt::format("{}:{:02}", all / 60, all % 60);
  return fmt::format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
}

}  // namespace

void ProgressBar::setup_graph() {
  for (const std::string& name : options_.names) {
    const Tensor tensor = trainer().get_tensor(name);
    BELFRY_CHECK(tensor.rank() == 0, "[ProgressBar] expected '{}' to be a scalar, got {}. Reduce it first.", name,
                 to_string(tensor));
    fetches_.emplace_back(tensor);
  }
  bar_ = options_.bar.value_or(isatty(fileno(options_.stream)) != 0);
}

void ProgressBar::before_epoch() {
  begin_ = now();
  last_drawn_ = 0;
}

bool ProgressBar::last_step() const { return trainer().local_step() + 1 >= trainer().steps_per_epoch(); }

bool ProgressBar::due() const { return last_step() || (bar_ && now() - last_drawn_ >= kInterval); }

HookRequest ProgressBar::before_run(const RunContext& context) {
  if (fetches_.empty() || context.fetches.empty() || !due()) return {};
  return {.fetches = fetches_};
}

void ProgressBar::after_run(const RunContext&, const RunValues& values) {
  if (values.empty()) return;
  values_.clear();
  for (const Array& value : values) values_.push_back(value.item());
}

std::string ProgressBar::shown(std::int64_t done) const {
  const std::int64_t steps = trainer().steps_per_epoch();
  const double seconds = now() - begin_;
  std::string out = fmt::format("epoch {} ", trainer().epoch_num());
  if (done < steps) {
    const int filled = static_cast<int>(kWidth * done / steps);
    out += fmt::format("[{:=>{}}{:{}}] ", "", filled, "", kWidth - filled);
  }
  out += fmt::format("{}/{}", done, steps);
  if (seconds > 0) out += fmt::format("  {:.1f} steps/s", static_cast<double>(done) / seconds);
  if (done < steps) out += fmt::format("  {} left", clock(seconds / static_cast<double>(done) * (steps - done)));
  for (std::size_t i = 0; i < values_.size(); ++i) out += fmt::format("  {} {:.4g}", options_.names[i], values_[i]);
  return out;
}

void ProgressBar::draw() {
  const std::string line = shown(trainer().local_step() + 1).substr(0, columns_of(options_.stream));
  std::fputs(("\r" + line + "\033[K").c_str(), options_.stream);
  std::fflush(options_.stream);
  drawn_ = true;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", options_.stream);
  std::fflush(options_.stream);
  drawn_ = false;
}

void ProgressBar::trigger_step() {
  if (!bar_ || last_step() || !due()) return;
  draw();
  last_drawn_ = now();
}

void ProgressBar::after_epoch() {
  clear();
  const std::int64_t steps = trainer().steps_per_epoch();
  if (steps == 0) return;
  std::fputs((shown(steps) + fmt::format("  {:.1f} s\n", now() - begin_)).c_str(), options_.stream);
  std::fflush(options_.stream);
}

void ProgressBar::after_train() { clear(); }

}  // namespace belfry
