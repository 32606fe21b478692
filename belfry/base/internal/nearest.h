// "Did you mean ...": the names nearest to one that was not found, for error texts.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace belfry {

// The smallest number of inserted, removed, replaced or swapped neighbouring characters that turns a into b.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Up to `count` different candidates, nearest first, ties in alphabetical order. A candidate that differs only by
// whole scopes in front ("tower1/conv0/W" for "conv0/W", or the reverse) or by upper and lower case counts as one
// edit away; "conv0/output" is what is meant by "conv0", a layer's name. Candidates that would need more than half of
// the longer name edited are omitted: they would mislead.
std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> candidates,
                                       std::size_t count = 3);

// " Did you mean 'a', 'b' or 'c'?" to append to an error text, or "" when nothing is near.
std::string did_you_mean(std::string_view wanted, std::span<const std::string> candidates, std::size_t count = 3);

}  // namespace belfry
#pragma GCC visibility pop
