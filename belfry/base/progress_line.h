// One line that is drawn again and again in its place: how far something is.
//
//   ProgressLine line(stderr, {});
//   while (...) if (line.due()) line.draw(progress_text({.done = n, .total = 100, .seconds = s, .unit = "steps"}));
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace belfry {

struct Progress {
  std::int64_t done = 0, total = 0;
  double seconds = 0;  // since it began
  std::string_view unit = "steps";
};

// "[=====     ] 50/100  12.5 steps/s  0:04 left"; at the end "100/100  12.5 steps/s".
std::string progress_text(const Progress& progress);

// Seconds of a clock that never goes back.
double monotonic_seconds();

class ProgressLine {
 public:
  // `shown`: whether anything is drawn; by default, if the stream is a terminal.
  ProgressLine(std::FILE* stream, std::optional<bool> shown);

  bool shown() const { return shown_; }
  bool due() const;                    // is shown, and was not drawn in the last tenth of a second
  void restart();                      // the next one is due at once
  void draw(const std::string& text);  // as much as the terminal is wide
  void clear();                        // nothing is left of it

 private:
  std::FILE* stream_;
  bool shown_ = false, drawn_ = false;
  double last_drawn_ = 0;
};

}  // namespace belfry
#pragma GCC visibility pop
