// Choosing tensors by regular expressions, and new names for them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "tools/weights.h"

namespace belfry::tools {

std::vector<std::string> names_of(const Weights& weights);

// An expression chooses the whole names that it matches. All throw BadArgument if an expression is not valid, and
// Error, with the nearest names, if one of them matches none.
void keep_matching(Weights& weights, const std::string& expression);
// Returns the names that are removed.
std::vector<std::string> drop_matching(Weights& weights, std::span<const std::string> expressions);

// One "s/REGEX/REPLACEMENT/", as sed has it: what the expression finds within a name, only the first of it unless a "g"
// follows, is replaced; \1 to \9 and & stand for what was found. Another character may separate the parts.
struct Renaming {
  std::string text, expression, replacement;
  bool everywhere = false;
};
Renaming parse_renaming(const std::string& text);

// Applies them one after the other to every name. Returns the old and the new names of those that changed. Two tensors
// that would get the same name are an error.
std::map<std::string, std::string> rename(Weights& weights, std::span<const Renaming> renamings);

}  // namespace belfry::tools
