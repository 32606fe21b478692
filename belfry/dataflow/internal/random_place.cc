#include "belfry/dataflow/internal/random_place.h"

#include <algorithm>
#include <optional>

namespace belfry {
namespace {

std::uint64_t salt_of(const FlowState& flow) {
  std::uint64_t salt = 0;
  for (const FlowState& source : flow.from) salt += salt_of(source);
  const auto number = [&](std::string_view name) -> std::optional<std::uint64_t> {
    const auto found = std::ranges::find(flow.numbers, name, [](const auto& n) -> std::string_view { return n.first; });
    if (found == flow.numbers.end()) return std::nullopt;
    return found->second;
  };
  if (number("seed")) ++salt;
  // Parts of one flow, each with indices of its own.
  if (const auto rank = number("rank"); rank && number("size") != 1) salt = mix_seed(salt, *rank);
  if (flow.flow == "fan_out" && flow.at("all") == 0 && flow.at("consumers") > 1)
    salt = mix_seed(salt, flow.at("consumer"));
  return salt;
}

}  // namespace

std::uint64_t seed_behind(std::uint64_t seed, const std::vector<FlowState>& sources) {
  std::uint64_t salt = 0;
  for (const FlowState& source : sources) salt += salt_of(source);
  return mix_seed(seed, salt);
}

}  // namespace belfry
