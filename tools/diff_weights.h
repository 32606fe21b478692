// belfry diff: how the tensors of two files differ.
#pragma once

#include <string>

namespace belfry::tools {

struct DiffOptions {
  std::string first{}, second{};
  bool json = false;
};

// Prints to stdout; whether the tensors are the same. NaN equals NaN, and -0 equals 0.
bool diff_weights(const DiffOptions& options);

}  // namespace belfry::tools
