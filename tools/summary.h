// belfry summary: what a run was, how far it came, and what it left.
#pragma once

#include <string>

namespace belfry::tools {

struct SummaryOptions {
  std::string run{};  // its directory
  bool json = false;
};

// Prints to stdout. What is missing (run.json, stats.json, checkpoints) is left out; what is damaged is an error.
void summarize(const SummaryOptions& options);

}  // namespace belfry::tools
