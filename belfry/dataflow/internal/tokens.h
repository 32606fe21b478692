// A text split into tokens by the rules of a vocabulary.
#pragma once

#include <string_view>

#include "belfry/base/function_ref.h"
#include "belfry/dataflow/vocabulary.h"

namespace belfry {

struct TokenRules {
  TextUnit unit = TextUnit::words;
  std::string_view end_of_line = {};  // the token of a line's end; empty: none, or the character itself
};

// Every token of a text that is UTF-8, in order. `found` must not keep the view.
void for_each_token(std::string_view text, const TokenRules& rules, FunctionRef<void(std::string_view)> found);

// Every line, without its end. The last line need not have one; after the last end no further line begins.
void for_each_line(std::string_view text, FunctionRef<void(std::string_view)> found);

}  // namespace belfry
