#include "belfry/dataflow/vocabulary.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "belfry/base/check.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/tokens.h"
#include "belfry/dataflow/internal/utf8.h"
#include "belfry/dataflow/internal/vocabulary_tokens.h"
#include "belfry/dataflow/sources/byte_source.h"

namespace belfry {
namespace {

constexpr const char* kReader = "Vocabulary";

class Counter {
 public:
  explicit Counter(VocabularyOptions options) : options_(std::move(options)) {
    BELFRY_CHECK(options_.min_count >= 1 && options_.max_size >= 0,
                 "[Vocabulary] expected a min_count of 1 or more and a max_size of 0 or more, got {} and {}.",
                 options_.min_count, options_.max_size);
  }

  void add(std::string_view text, std::string_view name) {
    check_utf8(text, kReader, name);
    const TokenRules rules{.unit = options_.unit, .end_of_line = options_.end_of_line};
    for_each_token(text, rules, [&](std::string_view token) { ++counts_[std::string(token)]; });
  }

  // The tokens that are frequent enough, the most frequent first.
  std::vector<std::string> chosen() const {
    std::vector<std::pair<std::string_view, std::int64_t>> found;
    for (const auto& [token, count] : counts_)
      if (count >= options_.min_count && token != options_.unknown) found.emplace_back(token, count);
    std::ranges::sort(found, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    if (options_.max_size > 0) found.resize(std::min(found.size(), static_cast<std::size_t>(options_.max_size - 1)));
    std::vector<std::string> tokens;
    for (const auto& [token, count] : found) tokens.emplace_back(token);
    return tokens;
  }

  const VocabularyOptions& options() const { return options_; }

 private:
  VocabularyOptions options_;
  std::unordered_map<std::string, std::int64_t> counts_;
};

}  // namespace

std::shared_ptr<const Vocabulary::Tokens> Vocabulary::Tokens::make(TextUnit unit, std::string end_of_line,
                                                                   std::vector<std::string> by_id) {
  BELFRY_CHECK(by_id.size() <= std::numeric_limits<std::int32_t>::max(),
               "[Vocabulary] expected fewer than 2^31 tokens, got {}.", by_id.size());
  BELFRY_CHECK(unit != TextUnit::lines || end_of_line.empty(),
               "[Vocabulary] expected no end_of_line where tokens are lines, got {}.", in_quotes(end_of_line));
  auto out = std::make_shared<Tokens>();
  out->unit = unit;
  out->end_of_line = std::move(end_of_line);
  out->by_id = std::move(by_id);
  out->ids.reserve(out->by_id.size());
  for (std::size_t i = 0; i < out->by_id.size(); ++i) {
    const std::string& token = out->by_id[i];
    BELFRY_CHECK(out->ids.emplace(token, static_cast<std::int32_t>(i)).second,
                 "[Vocabulary] expected every token once, got {} twice.", in_quotes(token));
  }
  return out;
}

Vocabulary Vocabulary::from_tokens(const std::vector<std::string>& tokens, VocabularyOptions options) {
  std::vector<std::string> by_id{options.unknown};
  by_id.insert(by_id.end(), tokens.begin(), tokens.end());
  for (const std::string& token : by_id) check_utf8(token, kReader, token);
  return Vocabulary(Tokens::make(options.unit, std::move(options.end_of_line), std::move(by_id)));
}

Vocabulary Vocabulary::from_files(const std::vector<std::string>& paths, VocabularyOptions options) {
  Counter counter(std::move(options));
  for (const std::string& path : paths) {
    std::string text;
    append_contents(text, path, kReader, {.bytes = counter.options().max_unpacked_bytes});
    counter.add(text, path);
  }
  return from_tokens(counter.chosen(), counter.options());
}

Vocabulary Vocabulary::from_flow(Flow texts, VocabularyOptions options) {
  check_ends(*texts, "Vocabulary");
  Counter counter(std::move(options));
  while (const std::optional<DataPoint> point = texts.next()) {
    BELFRY_CHECK(!point->empty() && point->front().dtype() == u8,
                 "[Vocabulary] expected points that begin with a text, u8 [bytes], got {} from '{}'.",
                 point->empty() ? "none" : name_of(point->front().dtype()), texts.describe());
    const Array& text = point->front();
    counter.add({static_cast<const char*>(text.raw()), text.bytes()}, texts.describe());
  }
  return from_tokens(counter.chosen(), counter.options());
}

const Vocabulary::Tokens& Vocabulary::tokens() const {
  BELFRY_CHECK(tokens_ != nullptr, "[Vocabulary] expected one with tokens, got an empty one. Build or load it first.");
  return *tokens_;
}

std::int64_t Vocabulary::size() const { return static_cast<std::int64_t>(tokens().by_id.size()); }
TextUnit Vocabulary::unit() const { return tokens().unit; }
const std::string& Vocabulary::end_of_line() const { return tokens().end_of_line; }
bool Vocabulary::contains(std::string_view token) const { return tokens().ids.contains(token); }

std::int32_t Vocabulary::id(std::string_view token) const {
  const auto found = tokens().ids.find(token);
  return found == tokens().ids.end() ? 0 : found->second;
}

const std::string& Vocabulary::token(std::int64_t id) const {
  BELFRY_CHECK(id >= 0 && id < size(), "[Vocabulary] expected an id from 0 to {}, got {}.", size() - 1, id);
  return tokens().by_id[static_cast<std::size_t>(id)];
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text) const {
  check_utf8(text, kReader, "the text");
  std::vector<std::int32_t> ids;
  for_each_token(text, tokens().rules(), [&](std::string_view token) { ids.push_back(id(token)); });
  return ids;
}

std::string Vocabulary::decode(std::span<const std::int32_t> ids) const {
  const std::string_view between = unit() == TextUnit::words ? " " : unit() == TextUnit::lines ? "\n" : "";
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text += between;
    text += token(ids[i]);
  }
  return text;
}

bool Vocabulary::operator==(const Vocabulary& other) const {
  if (tokens_ == other.tokens_ || !tokens_ || !other.tokens_) return tokens_ == other.tokens_;
  return unit() == other.unit() && end_of_line() == other.end_of_line() && tokens().by_id == other.tokens().by_id;
}

}  // namespace belfry
