#include "belfry/dataflow/internal/svmlight_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "belfry/base/check.h"
#include "belfry/base/internal/quotes.h"

namespace belfry {
namespace {

constexpr std::string_view kBlanksInLine = " \t\r\v\f";
constexpr std::int64_t kLargestIndex = std::numeric_limits<std::int32_t>::max();

// Takes the next word off the line; empty at its end.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanksInLine), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanksInLine));
  line.remove_prefix(word.size());
  return word;
}

std::optional<double> number_of(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  if (word.starts_with('+') || word.starts_with("-+")) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || end != word.data() + word.size()) return std::nullopt;
  // from_chars does not say whether the number is too large or too small, which is fine: strtod rounds that to about 0.
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(word).c_str(), nullptr);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> integer_of(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

class Parser {
 public:
  Parser(const std::string& path, const SvmlightOptions& options) : path_(path), options_(options) {}

  SparseRows parse(std::string_view text) {
    while (!text.empty()) {
      ++line_number_;
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      parse_line(line.substr(0, line.find('#')));
    }
    return std::move(out_);
  }

 private:
  void parse_line(std::string_view line) {
    if (line.find_first_not_of(kBlanksInLine) == std::string_view::npos) return;
    // A line of multilabel may name no class: then it begins with a blank, or with its first feature.
    std::string_view rest = line;
    const std::string_view first = take_word(rest);
    const bool unlabelled = options_.multilabel && first.find(':') != std::string_view::npos;
    if (!unlabelled) {
      line = rest;
      options_.multilabel ? add_classes(first) : add_label(first);
    }
    std::int64_t last = -1;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      if (!word.starts_with("qid:")) last = add_feature(word, last);
    }
    out_.ends.push_back(out_.columns.size());
    out_.label_ends.push_back(out_.labels.size());
  }

  void add_label(std::string_view word) {
    const std::optional<double> label = number_of(word);
    check(label.has_value(), "a number as label", word);
    check(options_.label == f32 ? std::abs(*label) <= std::numeric_limits<float>::max()
                                : *label == std::trunc(*label) && std::abs(*label) <= kLargestIndex,
          options_.label == f32 ? "a label that fits f32" : "a whole number that fits i32 as label", word);
    out_.labels.push_back(*label);
  }

  void add_classes(std::string_view words) {
    while (true) {
      const std::string_view word = words.substr(0, words.find(','));
      const std::optional<std::int64_t> label = integer_of(word);
      check(label && *label >= 0 && *label < options_.classes.value_or(kLargestIndex),
            "classes from 0 on, below .classes", word);
      out_.labels.push_back(static_cast<double>(*label));
      out_.classes = std::max(out_.classes, *label + 1);
      if (word.size() == words.size()) return;
      words.remove_prefix(word.size() + 1);
    }
  }

  std::int64_t add_feature(std::string_view word, std::int64_t last) {
    const std::size_t colon = word.find(':');
    check(colon != std::string_view::npos, "a feature as index:value", word);
    const std::optional<std::int64_t> index = integer_of(word.substr(0, colon));
    const std::optional<double> value = number_of(word.substr(colon + 1));
    check(index.has_value() && value.has_value(), "a feature as index:value", word);
    check(std::abs(*value) <= std::numeric_limits<float>::max(), "a value that fits f32", word);
    check(options_.zero_based || *index != 0, "indices from 1 on", word, " If 0 is the first, set .zero_based.");
    const std::int64_t first = options_.zero_based ? 0 : 1;
    const std::int64_t features = options_.features.value_or(kLargestIndex);
    // The sign is checked before subtracting, which could overflow.
    check(*index >= 0 && *index - first < features, fmt::format("an index of one of {} features", features), word);
    const std::int64_t column = *index - first;
    check(column > last, "ascending indices", word);
    out_.columns.push_back(column);
    out_.values.push_back(static_cast<float>(*value));
    out_.features = std::max(out_.features, column + 1);
    return column;
  }

  void check(bool condition, std::string_view expected, std::string_view got, std::string_view remedy = "") const {
    BELFRY_CHECK_AS(FileError, condition, "[from_svmlight] expected {}, got {} in line {} of '{}'.{}", expected,
                    in_quotes(got), line_number_, path_, remedy);
  }

  const std::string& path_;
  const SvmlightOptions& options_;
  std::int64_t line_number_ = 0;
  SparseRows out_;
};

}  // namespace

SparseRows parse_svmlight(std::string_view text, const std::string& path, const SvmlightOptions& options) {
  return Parser(path, options).parse(text);
}

}  // namespace belfry
