// The texts of errors.
#pragma once

#include <string>
#include <string_view>

#include "belfry/base/error.h"

namespace belfry {

// The text of the ErrorType that `function` throws; "no error" if it throws nothing.
template <class ErrorType = Error, class Function>
std::string error_of(Function&& function) {
  try {
    function();
  } catch (const ErrorType& e) {
    return e.what();
  }
  return "no error";
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace belfry
