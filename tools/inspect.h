// belfry data inspect: what is in a flow, as a table and a picture.
#pragma once

#include <cstdint>
#include <string>

#include "belfry/dataflow/flow.h"

namespace belfry::tools {

struct InspectOptions {
  std::int64_t show = 3;       // points to show one by one
  std::int64_t points = 1000;  // points to read for ranges and speed, at most those of one pass
  std::string sheet{};         // where to write a picture of the first images: .png
  int images = 64;             // how many of them
  bool json = false;
};

// Prints to stdout.
void inspect(Flow flow, const InspectOptions& options);

}  // namespace belfry::tools
