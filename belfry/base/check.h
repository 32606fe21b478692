// Checks for sources (not for public headers: this one brings fmt along).
//
//   BELFRY_CHECK(x.rank() == 2, "[matmul] expected a matrix, got {}. Reshape it first.", x);
//   BELFRY_BUG_IF(plan == nullptr, "plan was not compiled");
//
// BELFRY_CHECK is for what the user did and throws belfry::Error (BELFRY_CHECK_AS: another type); BELFRY_BUG_IF
// is for what only we can have done and throws InternalError with our source line.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "belfry/base/error.h"

namespace belfry {

template <class ErrorType = Error, class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw ErrorType(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace belfry

#define BELFRY_CHECK_AS(ErrorType, condition, ...)            \
  do {                                                        \
    if (!(condition)) ::belfry::fail<ErrorType>(__VA_ARGS__); \
  } while (false)

#define BELFRY_CHECK(condition, ...) BELFRY_CHECK_AS(::belfry::Error, condition, __VA_ARGS__)

#define BELFRY_BUG_IF(condition, ...)                                                                          \
  do {                                                                                                         \
    if (condition)                                                                                             \
      ::belfry::fail<::belfry::InternalError>("[belfry {}:{}] {}. This is a bug in Belfry: please report it.", \
                                              __FILE__, __LINE__, fmt::format(__VA_ARGS__));                   \
  } while (false)
