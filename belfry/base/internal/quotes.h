#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace belfry {

// A name that comes from outside, in quotes, cut to a length that an error text can bear.
std::string in_quotes(std::string_view name);

}  // namespace belfry
#pragma GCC visibility pop
