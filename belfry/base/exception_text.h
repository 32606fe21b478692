// What an exception of any type says.
#pragma once

#include <exception>
#include <string>

namespace belfry {

// what() of a std::exception; of anything else, that it is none. `error` is not null.
std::string text_of(const std::exception_ptr& error);

}  // namespace belfry
