#include "belfry/session/internal/name_row.h"

#include <algorithm>
#include <cctype>
#include <regex>

#include "belfry/base/check.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/session/internal/trimmed.h"

namespace belfry {
namespace {

constexpr std::string_view kQuantifiers = "*+?{";

bool is_quantified(std::string_view text, std::size_t next) {
  return next < text.size() && kQuantifiers.find(text[next]) != std::string_view::npos;
}

std::string escaped(std::string_view plain) {
  std::string out;
  for (const char c : plain) {
    if (std::string_view(R"(\^$.|?*+()[]{}/)").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> names_between(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t end = text.find(separator);
    out.emplace_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

struct NameTable::Row::Expressions {
  std::regex theirs;
  std::vector<std::regex> ours;  // one for each target
};

NameTable::Row::~Row() = default;

std::string NameTable::Row::expected(std::string_view what) const {
  return fmt::format("[NameTable] {}: expected {}", place_, what);
}

NameTable::Row::Row(const NameRow& row, const std::string& place)
    : text_(row),
      place_(fmt::format("{} ({} -> {})", place, in_quotes(row.theirs), in_quotes(row.ours))),
      rule_(WeightRule::parse(row.rule, fmt::format("[NameTable] {}:", place_))),
      expressions_(std::make_unique<Expressions>()) {
  try {
    expressions_->theirs = std::regex(row.theirs);
  } catch (const std::regex_error& error) {
    fail("{}, got an error in it ({}). Escape special characters with a backslash.",
         expected("an ECMAScript regular expression for their name"), error.what());
  }
  BELFRY_CHECK(!row.theirs.empty() && !row.ours.empty(), "{}, got none.", expected("a name on both sides"));
  if (row.ours == "-") return;
  for (const std::string& name : names_between(row.ours, '&')) targets_.push_back(template_of(name));
  BELFRY_CHECK(targets_.size() == 1 || !(rule_.part() || rule_.is_sum()), "{}, got both.",
               expected("several variables or a rule with part or sum"));
  BELFRY_CHECK(targets_.size() > 1 || !rule_.is_stack(), "{}, got one.", expected("several variables for 'stack'"));
  read_theirs();
  for (const Pieces& target : targets_) prepare_back(target);
}

// "conv$1/W"
NameTable::Row::Pieces NameTable::Row::template_of(std::string_view ours) const {
  BELFRY_CHECK(!ours.empty(), "{}, got none beside '&'.", expected("a variable's name"));
  Pieces out;
  const auto add = [&](char c) {
    if (out.empty() || out.back().group != 0) out.emplace_back();
    out.back().plain += c;
  };
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] != '$') {
      add(ours[i]);
      continue;
    }
    const bool braces = ours.substr(i + 1).starts_with('{');
    std::size_t end = i + 1 + (braces ? 1 : 0), group = 0;
    if (!braces && ours.substr(end).starts_with('$')) {
      add('$');
      i = end;
      continue;
    }
    // Without braces one digit: "$12" is group 1 before a 2.
    for (std::size_t digits = 0;
         end < ours.size() && std::isdigit(static_cast<unsigned char>(ours[end])) != 0 && digits < (braces ? 3u : 1u);
         ++digits)
      group = group * 10 + static_cast<std::size_t>(ours[end++] - '0');
    const bool closed = !braces || ours.substr(end).starts_with('}');
    BELFRY_CHECK(closed && group >= 1 && group <= expressions_->theirs.mark_count(),
                 "{}, got {}. Write $$ for a dollar sign.",
                 expected(fmt::format("$1 to ${} for what their {} groups match", expressions_->theirs.mark_count(),
                                      expressions_->theirs.mark_count())),
                 in_quotes(ours.substr(i)));
    out.push_back({.group = group});
    i = braces ? end : end - 1;
  }
  return out;
}

// Takes their expression apart, so that names can be made of it: plain text and groups. Anything else that matches more
// than one text makes the row one-way.
void NameTable::Row::read_theirs() {
  const std::string& text = text_.theirs;
  const auto add = [&](char c) {
    if (theirs_.empty() || theirs_.back().group != 0) theirs_.emplace_back();
    theirs_.back().plain += c;
  };
  for (std::size_t i = 0; i < text.size() && one_way_.empty(); ++i) {
    const char c = text[i];
    const bool is_edge = (c == '^' && i == 0) || (c == '$' && i + 1 == text.size());
    if (is_edge) continue;
    if (c == '(') {
      read_group(i);
    } else if (c == '\\' && i + 1 < text.size() && text[i + 1] >= '1' && text[i + 1] <= '9') {
      theirs_.push_back({.group = static_cast<std::size_t>(text[++i] - '0')});  // the same text again
    } else if (c == '\\' && i + 1 < text.size() && std::isalnum(static_cast<unsigned char>(text[i + 1])) == 0) {
      add(text[++i]);  // a dot that is not escaped stands for itself, too: names have many
    } else if (std::string_view("\\*+?[]{}|^$)").find(c) != std::string_view::npos) {
      one_way_ = fmt::format("it has {} outside of a group", in_quotes(text.substr(i, 2)));
    } else {
      add(c);
    }
    if (one_way_.empty() && is_quantified(text, i + 1))
      one_way_ = fmt::format("it has {} outside of a group", in_quotes(text.substr(i, 2)));
  }
}

// From the '(' at `at` to its ')'.
void NameTable::Row::read_group(std::size_t& at) {
  const std::string& text = text_.theirs;
  const std::size_t first = at + 1;
  if (std::string_view(text).substr(first).starts_with('?')) {
    one_way_ = fmt::format("it has {} outside of a group", in_quotes(text.substr(at, 3)));
    return;
  }
  bool in_class = false;
  for (int depth = 1; depth > 0;) {
    if (++at >= text.size()) {
      one_way_ = "its groups cannot be told apart";
      return;
    }
    const char c = text[at];
    if (c == '\\') {
      ++at;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(') {
      ++depth;
      if (!std::string_view(text).substr(at + 1).starts_with('?')) one_way_ = "it has a group in a group";
    } else if (c == ')') {
      --depth;
    }
  }
  groups_.push_back(text.substr(first, at - first));
  theirs_.push_back({.group = groups_.size()});
}

void NameTable::Row::prepare_back(const Pieces& target) {
  if (!one_way_.empty()) return;
  std::string expression;
  std::vector<std::size_t> captured(groups_.size() + 1);  // 0: not yet
  std::size_t captures = 0;
  for (const Piece& piece : target) {
    if (piece.group == 0) {
      expression += escaped(piece.plain);
    } else if (captured[piece.group] != 0) {
      expression += fmt::format("(?:\\{})", captured[piece.group]);
    } else {
      expression += fmt::format("({})", groups_[piece.group - 1]);
      captured[piece.group] = ++captures;
    }
  }
  for (std::size_t group = 1; group <= groups_.size(); ++group)
    if (captured[group] == 0) one_way_ = fmt::format("group {} is not part of our name", group);
  expressions_->ours.emplace_back(expression);
  captured_.push_back(std::move(captured));
}

std::string NameTable::Row::plain() const {
  std::string out = text_.theirs;
  std::erase(out, '\\');
  return out;
}

std::optional<std::vector<std::string>> NameTable::Row::ours_of(const std::string& theirs) const {
  std::smatch match;
  if (theirs.size() > kLongestMatchedName || !std::regex_match(theirs, match, expressions_->theirs))
    return std::nullopt;
  std::vector<std::string> out;
  for (const Pieces& target : targets_) {
    std::string& name = out.emplace_back();
    for (const Piece& piece : target) name += piece.group == 0 ? piece.plain : match[piece.group].str();
  }
  return out;
}

std::optional<NameTable::Row::Source> NameTable::Row::theirs_of(const std::string& ours) const {
  for (std::size_t k = 0; one_way_.empty() && k < expressions_->ours.size(); ++k) {
    std::smatch match;
    if (ours.size() > kLongestMatchedName || !std::regex_match(ours, match, expressions_->ours[k])) continue;
    Source out{.theirs = {}, .index = k, .targets = targets_.size()};
    for (const Piece& piece : theirs_)
      out.theirs += piece.group == 0 ? piece.plain : match[captured_[k][piece.group]].str();
    return out;
  }
  return std::nullopt;
}

}  // namespace belfry
