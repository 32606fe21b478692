// What explain() collects from a plan's parts: lines for people to read, and sums over all parts.
#pragma once

#include <string>
#include <vector>

namespace belfry {

struct Explanation {
  std::vector<std::string> devices{};  // of the session, by number: "cpu:0"

  std::string text{};  // a line for each instruction
  int instructions = 0, fused = 0, reorders = 0;
  double flops = 0, bytes = 0;

  const std::string& name_of(int device) const { return devices[static_cast<std::size_t>(device)]; }
};

}  // namespace belfry
