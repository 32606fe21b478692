// belfry data inspect: what is in a flow, as a table and a picture.
#pragma once

#include <cstdint>
#include <string>

#include "belfry/dataflow/flow.h"

namespace belfry::tools {

struct InspectOptions {
  std::int64_t show = 3;       // points that are shown one by one
  std::int64_t points = 1000;  // points that are read for ranges and speed: fewer if a pass has no more
  std::string sheet{};         // a picture of the first images goes here: .png
  int images = 64;             // so many
};

// Prints to stdout.
void inspect(Flow flow, const InspectOptions& options);

}  // namespace belfry::tools
