#include "tools/name_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/base/internal/quotes.h"
#include "tools/command_line.h"

namespace belfry::tools {
namespace {

std::regex compile(const std::string& expression) {
  try {
    return std::regex(expression);
  } catch (const std::regex_error& error) {
    throw BadArgument("REGEX", fmt::format("expected a regular expression, got '{}' ({})", expression, error.what()));
  }
}

[[noreturn]] void fail_without_match(const Weights& weights, const std::string& expression) {
  const std::vector<std::string> names = names_of(weights);
  fail("[weights] '{}': expected '{}' to match the name of a tensor, got none of {}.{}", weights.path, expression,
       names.size(), did_you_mean(expression, names));
}

// The library's matcher calls itself for each character of what it matches.
void check_length(const Weights& weights, const std::string& name) {
  constexpr std::size_t kLongest = 4096;
  BELFRY_CHECK_AS(FileError, name.size() <= kLongest,
                  "[weights] '{}': expected names of at most {} bytes for regular expressions, got {} of {}.",
                  weights.path, kLongest, in_quotes(name), name.size());
}

std::vector<std::string> matching(const Weights& weights, const std::string& expression) {
  const std::regex regex = compile(expression);
  std::vector<std::string> out;
  for (const auto& [name, array] : weights.tensors) {
    check_length(weights, name);
    if (std::regex_match(name, regex)) out.push_back(name);
  }
  if (out.empty()) fail_without_match(weights, expression);
  return out;
}

// Splits at the separator; a backslash before it takes its meaning away.
std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 2; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      if (text[i + 1] != separator) parts.back() += '\\';
      parts.back() += text[++i];
    } else if (text[i] == separator) {
      parts.emplace_back();
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

// The names of the model follow those of the tensors.
void rename_in_state(Weights& weights, const std::map<std::string, std::string>& changed) {
  if (!weights.state) return;
  for (std::string& name : weights.state->model)
    if (const auto at = changed.find(name); at != changed.end()) name = at->second;
  std::ranges::sort(weights.state->model);
}

}  // namespace

std::vector<std::string> names_of(const Weights& weights) {
  std::vector<std::string> out;
  for (const auto& [name, array] : weights.tensors) out.push_back(name);
  return out;
}

void keep_matching(Weights& weights, const std::string& expression) {
  std::map<std::string, Array> kept;
  for (const std::string& name : matching(weights, expression)) kept.emplace(name, weights.tensors.at(name));
  weights.tensors = std::move(kept);
}

std::vector<std::string> drop_matching(Weights& weights, std::span<const std::string> expressions) {
  std::set<std::string> dropped;
  for (const std::string& expression : expressions)
    for (const std::string& name : matching(weights, expression)) dropped.insert(name);
  for (const std::string& name : dropped) weights.tensors.erase(name);
  if (weights.state)
    std::erase_if(weights.state->model, [&](const std::string& name) { return dropped.contains(name); });
  return {dropped.begin(), dropped.end()};
}

Renaming parse_renaming(const std::string& text) {
  const auto refuse = [&] {
    throw BadArgument("EXPRESSION",
                      fmt::format("expected s/REGEX/REPLACEMENT/ or s/REGEX/REPLACEMENT/g, got '{}'", text));
  };
  if (text.size() < 2 || text[0] != 's' || std::isalnum(static_cast<unsigned char>(text[1])) || text[1] == '\\')
    refuse();
  const std::vector<std::string> parts = parts_of(text, text[1]);
  if (parts.size() != 3 || parts[0].empty() || (!parts[2].empty() && parts[2] != "g")) refuse();
  compile(parts[0]);
  return {.text = text, .expression = parts[0], .replacement = parts[1], .everywhere = parts[2] == "g"};
}

std::map<std::string, std::string> rename(Weights& weights, std::span<const Renaming> renamings) {
  std::map<std::string, std::string> now;  // from the old names
  for (const std::string& name : names_of(weights)) now[name] = name;
  for (const Renaming& renaming : renamings) {
    const std::regex regex = compile(renaming.expression);
    auto flags = std::regex_constants::format_sed;
    if (!renaming.everywhere) flags |= std::regex_constants::format_first_only;
    bool found = false;
    for (auto& [old, name] : now) {
      check_length(weights, name);
      if (!std::regex_search(name, regex)) continue;
      found = true;
      name = std::regex_replace(name, regex, renaming.replacement, flags);
    }
    if (!found) fail_without_match(weights, renaming.expression);
  }
  std::map<std::string, std::string> changed, old_of;
  std::map<std::string, Array> tensors;
  for (const auto& [old, name] : now) {
    BELFRY_CHECK(!name.empty(), "[rename] '{}': expected a name for {}, got an empty one.", weights.path,
                 in_quotes(old));
    const auto [at, is_new] = old_of.emplace(name, old);
    BELFRY_CHECK(is_new, "[rename] '{}': expected different names, got {} for both {} and {}.", weights.path,
                 in_quotes(name), in_quotes(at->second), in_quotes(old));
    if (name != old) changed[old] = name;
    tensors.emplace(name, weights.tensors.at(old));
  }
  weights.tensors = std::move(tensors);
  rename_in_state(weights, changed);
  return changed;
}

}  // namespace belfry::tools
