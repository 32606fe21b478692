// belfry ls: what is in a file of tensors.
#pragma once

#include <string>

namespace belfry::tools {

struct ListOptions {
  std::string file{};
  std::string match{};        // a regular expression for whole names; "" is all
  std::string sort = "name";  // or "bytes"
  bool no_statistics = false;
  bool json = false;
};

// Prints to stdout.
void list_weights(const ListOptions& options);

}  // namespace belfry::tools
