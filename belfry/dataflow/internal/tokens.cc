#include "belfry/dataflow/internal/tokens.h"

#include <algorithm>

#include "belfry/dataflow/internal/utf8.h"

namespace belfry {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

void for_each_word(std::string_view line, FunctionRef<void(std::string_view)> found) {
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty()) return;
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    found(word);
    line.remove_prefix(word.size());
  }
}

void for_each_character(std::string_view text, std::string_view end_of_line,
                        FunctionRef<void(std::string_view)> found) {
  while (!text.empty()) {
    const std::string_view character = text.substr(0, std::max<std::size_t>(utf8_length(text), 1));
    found(character == "\n" && !end_of_line.empty() ? end_of_line : character);
    text.remove_prefix(character.size());
  }
}

}  // namespace

void for_each_line(std::string_view text, FunctionRef<void(std::string_view)> found) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    found(line);
  }
}

void for_each_token(std::string_view text, const TokenRules& rules, FunctionRef<void(std::string_view)> found) {
  if (rules.unit == TextUnit::characters) return for_each_character(text, rules.end_of_line, found);
  if (rules.unit == TextUnit::lines) return for_each_line(text, found);
  for_each_line(text, [&](std::string_view line) {
    for_each_word(line, found);
    if (!rules.end_of_line.empty()) found(rules.end_of_line);
  });
}

}  // namespace belfry
