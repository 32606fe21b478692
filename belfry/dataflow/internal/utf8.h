// UTF-8: one character after the other, and nothing but UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace belfry {

// Bytes of the character that `text` begins with; 0 if it is empty or does not begin with one (a stray or missing byte,
// a form that is longer than needed, a surrogate, something beyond U+10FFFF).
std::size_t utf8_length(std::string_view text);

// Throws FileError, with the byte's position, unless all of `text` is UTF-8. `reader` and `name` say who reads what.
void check_utf8(std::string_view text, const char* reader, std::string_view name);

}  // namespace belfry
