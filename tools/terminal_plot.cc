#include "tools/terminal_plot.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "belfry/base/internal/axis.h"
#include "tools/text_table.h"

namespace belfry::tools {
namespace {

constexpr std::string_view kMarkers = "*+ox#@%&";
constexpr std::array kColours{34, 33, 32, 35, 36, 31, 94, 93};

struct Range {
  double low = HUGE_VAL, high = -HUGE_VAL;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

// Characters, each of which has one dot or, as braille, 2 x 4.
class DotGrid {
 public:
  DotGrid(int columns, int rows, bool braille)
      : columns_(columns), rows_(rows), braille_(braille), cells_(static_cast<std::size_t>(columns * rows)) {}

  int dots_across() const { return braille_ ? columns_ * 2 : columns_; }
  int dots_down() const { return braille_ ? rows_ * 4 : rows_; }

  // Places between 0 and 1, y upwards.
  void line(CurvePoint from, CurvePoint to, int series) {
    const auto x = [&](const CurvePoint& p) { return std::clamp(p.x, 0.0, 1.0) * (dots_across() - 1); };
    const auto y = [&](const CurvePoint& p) { return (1 - std::clamp(p.y, 0.0, 1.0)) * (dots_down() - 1); };
    const double dx = x(to) - x(from), dy = y(to) - y(from);
    const int steps = std::max(1, static_cast<int>(std::ceil(std::max(std::abs(dx), std::abs(dy)))));
    for (int i = 0; i <= steps; ++i)
      set(static_cast<int>(std::lround(x(from) + dx * i / steps)),
          static_cast<int>(std::lround(y(from) + dy * i / steps)), series);
  }

  std::string row_text(int row, bool colour) const {
    std::string out;
    int current = -1;
    for (int column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[static_cast<std::size_t>(row * columns_ + column)];
      if (colour && cell.series >= 0 && cell.series != current) {
        out += fmt::format("\x1b[{}m", kColours[static_cast<std::size_t>(cell.series) % kColours.size()]);
        current = cell.series;
      }
      out += text_of(cell);
    }
    return current >= 0 ? out + "\x1b[0m" : out;
  }

 private:
  struct Cell {
    std::uint8_t dots = 0;
    int series = -1;  // the last one drawn there
  };

  void set(int x, int y, int series) {
    Cell& cell = cells_[static_cast<std::size_t>((braille_ ? y / 4 : y) * columns_ + (braille_ ? x / 2 : x))];
    // Unicode numbers the dots of braille down the left side, down the right one, and then those at the bottom.
    constexpr std::uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cell.dots |= braille_ ? kBits[y % 4][x % 2] : 1;
    cell.series = series;
  }

  std::string text_of(const Cell& cell) const {
    if (cell.dots == 0) return " ";
    if (!braille_) return {kMarkers[static_cast<std::size_t>(cell.series) % kMarkers.size()]};
    // U+2800 and the dots, in UTF-8
    return {'\xe2', static_cast<char>(0xa0 | (cell.dots >> 6)), static_cast<char>(0x80 | (cell.dots & 0x3f))};
  }

  int columns_, rows_;
  bool braille_;
  std::vector<Cell> cells_;
};

class Plot {
 public:
  Plot(const CurvePanel& panel, const CurveOptions& options, const TerminalStyle& style)
      : panel_(panel), options_(options), style_(style) {
    for (const Series& series : panel_.series) lines_.push_back(smoothed(series.points, options_.smoothing));
    braille_ = !style_.ascii && (style_.colour || panel_.series.size() == 1);
    find_axes();
  }

  std::string text() {
    std::size_t labels = 0;
    for (const double tick : y_.ticks) labels = std::max(labels, y_.text_of(tick).size());
    const int columns = std::max(10, style_.width - static_cast<int>(labels) - 3);
    DotGrid grid(columns, style_.height, braille_);
    for (std::size_t s = 0; s < lines_.size(); ++s) draw(grid, lines_[s], static_cast<int>(s));

    std::string out = title() + "\n" + legend();
    for (int row = 0; row < style_.height; ++row) {
      const auto tick = tick_at(row);
      const std::string label = tick ? y_.text_of(*tick) : "";
      std::string line = fmt::format("{:>{}} {}{}", label, labels, tick ? mark("┤", "+") : mark("│", "|"),
                                     grid.row_text(row, style_.colour));
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out + x_axis(columns, labels);
  }

 private:
  const char* mark(const char* unicode, const char* ascii) const { return style_.ascii ? ascii : unicode; }

  void find_axes() {
    Range x, y;
    bool whole = true;
    for (const auto& line : lines_)
      for (const CurvePoint& p : line) {
        x.add(p.x);
        whole = whole && p.x == std::floor(p.x);
        std::isfinite(p.y) ? y.add(p.y) : void(++missing_);
      }
    if (x.empty()) x = {0, 1};
    if (y.empty()) y = {0, 1};
    x_ = make_axis(x.low, x.high, {.most_ticks = std::max(2, style_.width / 12), .whole = whole, .margin = 0});
    y_ = make_axis(y.low, y.high,
                   {.most_ticks = std::max(2, style_.height / 2),
                    .logarithmic = options_.logarithmic && y.low > 0,
                    .margin = 0.02});
  }

  std::string title() const {
    std::string out = panel_.title;
    if (missing_ > 0) out += fmt::format(" ({} not finite)", missing_);
    if (options_.logarithmic) out += y_.logarithmic ? " (log)" : " (linear: not all above 0)";
    return out;
  }

  std::string legend() const {
    if (panel_.series.size() < 2) return "";
    std::string out;
    for (std::size_t s = 0; s < panel_.series.size(); ++s) {
      const std::string sample = braille_ ? "⠤⠤" : std::string(1, kMarkers[s % kMarkers.size()]);
      const std::string coloured =
          style_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", kColours[s % kColours.size()], sample) : sample;
      out += fmt::format("  {} {}", coloured, panel_.series[s].name);
    }
    return out + "\n";
  }

  void draw(DotGrid& grid, const std::vector<CurvePoint>& line, int series) const {
    const auto place = [&](const CurvePoint& p) { return CurvePoint{x_.place(p.x), y_.place(p.y)}; };
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (!std::isfinite(line[i].y)) continue;
      const bool is_joined = i > 0 && std::isfinite(line[i - 1].y);
      grid.line(place(line[is_joined ? i - 1 : i]), place(line[i]), series);
    }
  }

  std::optional<double> tick_at(int row) const {
    for (const double tick : y_.ticks)
      if (std::lround((1 - y_.place(tick)) * (style_.height - 1)) == row) return tick;
    return std::nullopt;
  }

  // The line below, which says what it counts, and the numbers below that; those that have no room are omitted.
  std::string x_axis(int columns, std::size_t labels) const {
    std::string line, numbers(labels + 2 + static_cast<std::size_t>(columns), ' ');
    const int drawn = columns - static_cast<int>(options_.x_label.size()) - 1;
    for (int column = 0; column < drawn; ++column) line += mark("─", "-");
    line += " " + options_.x_label;
    std::size_t free = 0;
    for (const double tick : x_.ticks) {
      const std::string text = x_.text_of(tick);
      const auto at = static_cast<std::size_t>(std::lround(x_.place(tick) * (columns - 1))) + labels + 2;
      const std::size_t begin = std::min(at - std::min(at, text.size() / 2), numbers.size() - text.size());
      if (begin < free) continue;
      numbers.replace(begin, text.size(), text);
      free = begin + text.size() + 2;
    }
    numbers.erase(numbers.find_last_not_of(' ') + 1);
    return std::string(labels + 1, ' ') + mark("└", "+") + line + "\n" + numbers + "\n";
  }

  const CurvePanel& panel_;
  const CurveOptions& options_;
  const TerminalStyle& style_;
  std::vector<std::vector<CurvePoint>> lines_;
  bool braille_ = false;
  Axis x_{}, y_{};
  std::int64_t missing_ = 0;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool locale_is_utf8() {
  std::string locale = environment("LC_ALL");
  if (locale.empty()) locale = environment("LC_CTYPE");
  if (locale.empty()) locale = environment("LANG");
  std::ranges::transform(locale, locale.begin(), [](unsigned char c) { return std::tolower(c); });
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

int terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = std::atoi(environment("COLUMNS").c_str());
  return columns > 0 ? columns : 80;
}

}  // namespace

std::string terminal_plot(const CurvePanel& panel, const CurveOptions& options, const TerminalStyle& style) {
  return Plot(panel, options, style).text();
}

TerminalStyle style_of_terminal() {
  return {.width = std::clamp(terminal_width(), 40, 200),
          .ascii = !locale_is_utf8(),
          .colour = ::isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").empty()};
}

}  // namespace belfry::tools
