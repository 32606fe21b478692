// All that is wrong with a table of names, as one error.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "belfry/base/check.h"

namespace belfry {

class WeightProblems {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    lines_ += "\n  " + fmt::format(text, std::forward<Args>(args)...);
  }
  void throw_if_any(const std::string& caller, const char* remedy) const {
    BELFRY_CHECK(lines_.empty(), "[{}] expected names and rules that fit, got:{}\n{}", caller, lines_, remedy);
  }

 private:
  std::string lines_;
};

}  // namespace belfry
