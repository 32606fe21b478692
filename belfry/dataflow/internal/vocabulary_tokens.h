// What a Vocabulary holds, for the sources that make and use one.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "belfry/dataflow/internal/tokens.h"
#include "belfry/dataflow/vocabulary.h"

namespace belfry {

struct Vocabulary::Tokens {
  TextUnit unit = TextUnit::words;
  std::string end_of_line;
  std::vector<std::string> by_id;                          // by_id[0] is the unknown token
  std::unordered_map<std::string_view, std::int32_t> ids;  // views of by_id, which never changes

  TokenRules rules() const { return {.unit = unit, .end_of_line = end_of_line}; }

  // Throws Error on tokens that no vocabulary can have.
  static std::shared_ptr<const Tokens> make(TextUnit unit, std::string end_of_line, std::vector<std::string> by_id);
};

}  // namespace belfry
