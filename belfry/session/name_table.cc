#include "belfry/session/name_table.h"

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/session/internal/name_row.h"

namespace belfry {
namespace {

std::string_view trimmed_line(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// "theirs -> ours : rule"
NameRow row_of(std::string_view line, const std::string& place) {
  constexpr std::string_view kArrow = " -> ", kColon = " : ";
  const std::size_t arrow = line.find(kArrow);
  BELFRY_CHECK_AS(FileError, arrow != std::string_view::npos,
                  "[NameTable] {}: expected \"theirs -> ours\" or \"theirs -> ours : rule\", got {}.", place,
                  in_quotes(line));
  const std::string_view rest = line.substr(arrow + kArrow.size());
  const std::size_t colon = rest.find(kColon);
  return {.theirs = std::string(trimmed_line(line.substr(0, arrow))),
          .ours = std::string(trimmed_line(rest.substr(0, colon))),
          .rule = colon == std::string_view::npos ? "" : std::string(trimmed_line(rest.substr(colon + kColon.size())))};
}

}  // namespace

void NameTable::add(const NameRow& row, const std::string& place) {
  rows_.push_back(std::make_shared<const Row>(row, place));
}

NameTable::NameTable(const std::vector<NameRow>& rows) {
  for (const NameRow& row : rows) add(row, fmt::format("row {}", rows_.size() + 1));
}

NameTable NameTable::from_file(const std::string& path) {
  const std::string text = read_file(path);
  NameTable out;
  int number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = trimmed_line(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    const std::string place = fmt::format("'{}':{}", path, number);
    out.add(row_of(line, place), place);
  }
  BELFRY_CHECK_AS(FileError, !out.empty(), "[NameTable] '{}': expected at least one row, got none.", path);
  return out;
}

}  // namespace belfry
