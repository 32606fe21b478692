// Lists of many names as readable text.
#pragma once

#include <string>
#include <vector>

namespace belfry {

using Names = std::vector<std::string>;

std::string list_of(const Names& names);  // 'a', 'b'
std::string some_of(const Names& names);  // the first few: 'a', 'b' and 5 more
// All names if there are few; otherwise by scope, and of many scopes only the first: 'conv0' (W, b), 'conv1' (W, b) and
// 8 more scopes.
std::string by_scope(const Names& names);

}  // namespace belfry
