// belfry average: the mean of several checkpoints of one model.
#pragma once

#include <string>
#include <vector>

#include "tools/change_weights.h"

namespace belfry::tools {

struct AverageOptions {
  std::vector<std::string> inputs{};
  OutputOptions output{};
};

// Prints what it did to stdout.
void average_weights(const AverageOptions& options);

}  // namespace belfry::tools
