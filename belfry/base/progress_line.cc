#include "belfry/base/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>

namespace belfry {
namespace {

constexpr double kInterval = 0.1;  // seconds between two drawings
constexpr int kWidth = 30;

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

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string progress_text(const Progress& progress) {
  const auto& [done, total, seconds, unit] = progress;
  std::string out;
  if (done < total) {
    const int filled = static_cast<int>(kWidth * done / total);
    out += fmt::format("[{:=>{}}{:{}}] ", "", filled, "", kWidth - filled);
  }
  out += fmt::format("{}/{}", done, total);
  if (seconds > 0) out += fmt::format("  {:.1f} {}/s", static_cast<double>(done) / seconds, unit);
  if (done > 0 && done < total)
    out += fmt::format("  {} left", clock(seconds / static_cast<double>(done) * static_cast<double>(total - done)));
  return out;
}

ProgressLine::ProgressLine(std::FILE* stream, std::optional<bool> shown)
    : stream_(stream), shown_(shown ? *shown : isatty(fileno(stream)) != 0) {}

bool ProgressLine::due() const { return shown_ && monotonic_seconds() - last_drawn_ >= kInterval; }

void ProgressLine::restart() { last_drawn_ = 0; }

void ProgressLine::draw(const std::string& text) {
  std::fputs(("\r" + text.substr(0, columns_of(stream_)) + "\033[K").c_str(), stream_);
  std::fflush(stream_);
  drawn_ = true;
  last_drawn_ = monotonic_seconds();
}

void ProgressLine::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stream_);
  std::fflush(stream_);
  drawn_ = false;
}

}  // namespace belfry
