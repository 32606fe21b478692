#include "tools/flow_spec.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/base/nearest.h"
#include "tools/flow_words.h"

namespace belfry::tools {
namespace {

template <class Word>
const Word& find(const std::vector<Word>& words, const std::string& name, const char* what) {
  const std::string prefix = "from_";  // as the function of the library has it: from_npz() is the word npz
  const auto at = std::ranges::find(words, name.starts_with(prefix) ? name.substr(prefix.size()) : name, &Word::name);
  if (at != words.end()) return *at;
  std::vector<std::string> names;
  for (const Word& word : words) names.push_back(word.name);
  fail("[flow] expected the name of a {}, got '{}'.{} belfry data words lists them.", what, name,
       did_you_mean(name, names));
}

template <class Word>
std::string lines(const std::vector<Word>& words) {
  std::string out;
  for (const Word& word : words) out += fmt::format("  {:<58} {}\n", word.usage, word.meaning);
  return out;
}

}  // namespace

Flow flow_from_spec(std::string_view spec) {
  std::vector<Call> calls = parse_calls(spec);
  Flow flow = find(source_words(), calls[0].name, "source").make(calls[0]);
  calls[0].check_all_used();
  for (std::size_t i = 1; i < calls.size(); ++i) {
    flow = flow | find(stage_words(), calls[i].name, "stage").make(calls[i]);
    calls[i].check_all_used();
  }
  return flow;
}

std::string flow_spec_help() {
  return fmt::format("sources (those that are functions from_... may be written so):\n{}stages, behind a '|':\n{}",
                     lines(source_words()), lines(stage_words()));
}

}  // namespace belfry::tools
