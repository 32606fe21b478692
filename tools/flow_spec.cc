#include "tools/flow_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "tools/flow_words.h"

namespace belfry::tools {
namespace {

// A sentence about the words that this build lacks, or nothing.
std::string without_parts() {
  std::vector<std::string> parts;
#ifndef BELFRY_TOOLS_IMAGES
  parts.emplace_back("images");
#endif
#ifndef BELFRY_TOOLS_LMDB
  parts.emplace_back("lmdb");
#endif
  if (parts.empty()) return "";
  return fmt::format(" This build lacks the words of: {} (see belfry --version).", fmt::join(parts, ", "));
}

template <class Made>
const Word<Made>& find(const std::vector<Word<Made>>& words, const std::string& name, const char* what) {
  std::vector<std::string> names;
  for (const Word<Made>& word : words) {
    if (std::ranges::find(word.names, name) != word.names.end()) return word;
    names.insert(names.end(), word.names.begin(), word.names.end());
  }
  fail("[flow] expected the name of a {}, got '{}'.{} belfry data words lists them.{}", what, name,
       did_you_mean(name, names), without_parts());
}

template <class Made>
std::string lines(const std::vector<Word<Made>>& words) {
  std::string out;
  for (const Word<Made>& word : words)
    out += fmt::format("  {:<66} {}{}\n", word.usage, word.meaning,
                       word.names.size() > 1 ? fmt::format(" [{}]", word.names[1]) : "");
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
  return fmt::format(
      "sources:\n{}stages, after a '|':\n{}\nIn [brackets]: the library's name, which means the same. "
      "Several values of one argument: a;b;c. A range: 0.8;1.2, or a single number.\n",
      lines(source_words()), lines(stage_words()));
}

}  // namespace belfry::tools
