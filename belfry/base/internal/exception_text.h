// What an exception of any type says.
#pragma once

#include <exception>
#include <string>

#pragma GCC visibility push(default)
namespace belfry {

// what() of a std::exception; for anything else, a text that says it is not one. `error` must not be null.
std::string text_of(const std::exception_ptr& error);

}  // namespace belfry
#pragma GCC visibility pop
