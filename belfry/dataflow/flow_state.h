// Where a flow stands: a small tree that mirrors the composition, one node a flow. It goes into checkpoints as text.
//
//   {"flow":"batch","points":2,"keep":0,"from":[{"flow":"list","count":5,"epoch":1,"position":4}]}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry {

struct FlowState {
  std::string flow;                                            // the kind of flow: "list", "batch", ...
  std::vector<std::pair<std::string, std::uint64_t>> numbers;  // by name, in the order they were given
  std::vector<FlowState> from;                                 // the states of the flows it draws on

  // Number by name; throws if it is not there.
  std::uint64_t at(std::string_view name) const;
  // Throw unless this is the state of such a flow, drawing on so many others; unless a number has the given value.
  void expect(std::string_view flow, std::size_t sources) const;
  void expect_number(std::string_view name, std::uint64_t value) const;

  bool operator==(const FlowState&) const = default;
};

std::string to_string(const FlowState& state);            // one line of JSON
FlowState flow_state_from_string(std::string_view text);  // throws on anything that to_string() does not write

}  // namespace belfry
