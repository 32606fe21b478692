#include "tools/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace belfry::tools {

std::size_t width_of(const std::string& text) {
  // Bytes that continue a UTF-8 character begin with the bits 10.
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string text_table(const std::vector<Align>& columns, const std::vector<std::vector<std::string>>& rows,
                       const std::string& indent) {
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const auto& row : rows)
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], width_of(row[k]));
  std::string out;
  for (const auto& row : rows) {
    std::string line = indent;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const std::string space(widths[k] - width_of(row[k]), ' ');
      if (k > 0) line += "  ";
      line += columns[k] == Align::right ? space + row[k] : row[k] + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units{"B", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < units.size(); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string number_text(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value); }

std::string count_text(std::int64_t n, const std::string& noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

}  // namespace belfry::tools
