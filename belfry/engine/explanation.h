// What explain() collects from a plan's parts: lines for people to read, and sums over all parts.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace belfry {

struct Explanation {
  std::vector<std::string> devices{};  // of the session, by number: "cpu:0"

  std::string text{};  // a line for each instruction
  int instructions = 0, fused = 0, reorders = 0;
  double flops = 0, bytes = 0;

  int recomputed = 0;  // instructions
  double recomputed_flops = 0;
  std::set<int> recomputed_segments{};      // that they belong to
  std::vector<std::size_t> plain_arenas{};  // by device: what they would be if nothing were recomputed
  std::string bf16_reason{};                // whether the machine multiplies in bf16, and why
  int native_bf16 = 0, emulated_bf16 = 0;   // instructions that multiply in bf16
  std::vector<std::string> kept_f32{};      // those that could and do not

  const std::string& name_of(int device) const { return devices[static_cast<std::size_t>(device)]; }
};

}  // namespace belfry
