#include "tools/calls.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "belfry/base/check.h"

namespace belfry::tools {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::vector<Call> calls() {
    std::vector<Call> out{call()};
    while (eat('|')) out.push_back(call());
    expect_that(at_ == text_.size(), "'|' or the end");
    return out;
  }

 private:
  Call call() {
    Call out{.name = std::string(name())};
    expect_that(!out.name.empty(), "a name");
    if (!eat('(') || eat(')')) return out;
    do argument(out);
    while (eat(','));
    expect_that(eat(')'), "',' or ')'");
    return out;
  }

  void argument(Call& out) {
    const std::size_t begin = at_;
    const std::string_view key = name();
    if (!key.empty() && eat('=')) {
      expect_that(out.named.emplace(key, value()).second, "each argument once");
      return;
    }
    at_ = begin;
    out.positional.push_back(value());
  }

  std::string value() {
    skip_spaces();
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) return quoted();
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view(",()|=").find(text_[at_]) == std::string_view::npos) ++at_;
    std::string_view out = text_.substr(begin, at_ - begin);
    while (!out.empty() && out.back() == ' ') out.remove_suffix(1);
    expect_that(!out.empty(), "a value");
    return std::string(out);
  }

  std::string quoted() {
    const char quote = text_[at_++];
    const std::size_t end = text_.find(quote, at_);
    expect_that(end != std::string_view::npos, "the closing quote");
    return std::string(text_.substr(std::exchange(at_, end + 1), end - at_));
  }

  std::string_view name() {
    skip_spaces();
    const std::size_t begin = at_;
    const auto belongs = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool eat(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_spaces();
    return true;
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  void expect_that(bool condition, const char* what) const {
    BELFRY_CHECK(condition, "[flow] expected {} at character {} of '{}', got {}. Write source(arguments) | stage(...).",
                 what, at_ + 1, text_, at_ < text_.size() ? fmt::format("'{}'", text_.substr(at_)) : "the end");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

template <class T>
T number(const Call& call, const std::string& argument, const std::string& text, const char* kind) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  BELFRY_CHECK(error == std::errc() && end == text.data() + text.size(), "[{}] expected {} for {}, got '{}'.",
               call.name, kind, argument, text);
  return value;
}

// The values between the semicolons, without outer spaces.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(part.size());
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    out.emplace_back(part.substr(0, part.find_last_not_of(' ') + 1));
    if (text.empty()) return out;
    text.remove_prefix(1);
  }
}

std::vector<double> numbers_in(const Call& call, const std::string& argument, const std::string& text) {
  std::vector<double> out;
  for (const std::string& part : split(text)) out.push_back(number<double>(call, argument, part, "a number"));
  return out;
}

}  // namespace

std::optional<std::string> Call::take(const std::string& argument) {
  if (const auto at = named.find(argument); at != named.end()) {
    std::string out = std::move(at->second);
    named.erase(at);
    return out;
  }
  if (positional.empty()) return std::nullopt;
  std::string out = std::move(positional.front());
  positional.erase(positional.begin());
  return out;
}

std::string Call::text(const std::string& argument) {
  std::optional<std::string> out = take(argument);
  BELFRY_CHECK(out, "[{}] expected a value for {}, got none.", name, argument);
  return std::move(*out);
}

std::string Call::text_or(const std::string& argument, std::string_view other) {
  return take(argument).value_or(std::string(other));
}

std::int64_t Call::whole_or(const std::string& argument, std::int64_t other) {
  const std::optional<std::string> text = take(argument);
  return text ? number<std::int64_t>(*this, argument, *text, "a whole number") : other;
}

int Call::count_or(const std::string& argument, int other) {
  const std::int64_t value = whole_or(argument, other);
  BELFRY_CHECK(value >= 0 && value <= 1'000'000, "[{}] expected 0 to 1000000 for {}, got {}.", name, argument, value);
  return static_cast<int>(value);
}

double Call::number_or(const std::string& argument, double other) {
  const std::optional<std::string> text = take(argument);
  return text ? number<double>(*this, argument, *text, "a number") : other;
}

std::optional<bool> Call::flag(const std::string& argument) {
  const std::optional<std::string> text = take(argument);
  BELFRY_CHECK(!text || *text == "true" || *text == "false", "[{}] expected true or false for {}, got '{}'.", name,
               argument, *text);
  return text ? std::optional(*text == "true") : std::nullopt;
}

bool Call::flag_or(const std::string& argument, bool other) { return flag(argument).value_or(other); }

std::vector<std::string> Call::texts(const std::string& argument) { return split(text(argument)); }

std::vector<std::string> Call::texts_or(const std::string& argument, std::vector<std::string> other) {
  const std::optional<std::string> text = take(argument);
  return text ? split(*text) : other;
}

std::vector<double> Call::numbers(const std::string& argument) { return numbers_in(*this, argument, text(argument)); }

std::vector<double> Call::numbers_or(const std::string& argument, std::vector<double> other) {
  const std::optional<std::string> text = take(argument);
  return text ? numbers_in(*this, argument, *text) : other;
}

void Call::check_all_used() const {
  const std::string* extra = nullptr;
  if (!named.empty()) extra = &named.begin()->first;
  if (!positional.empty()) extra = &positional.front();
  BELFRY_CHECK(extra == nullptr, "[{}] expected no further argument, got '{}'.", name, *extra);
}

std::vector<Call> parse_calls(std::string_view text) { return Parser(text).calls(); }

}  // namespace belfry::tools
