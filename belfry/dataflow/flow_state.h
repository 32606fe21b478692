// Where a flow stands: a small tree that mirrors the composition, one node per flow. It goes into checkpoints as text.
//
//   {"flow":"batch","points":2,"keep":0,"from":[{"flow":"list","count":5,"epoch":1,"position":4}],
//    "identity":"list(count=5) | batch(points=2, keep=no)"}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/dataflow/flow_identity.h"

#pragma GCC visibility push(default)
namespace belfry {

struct FlowState {
  std::string flow;                                            // the kind of flow: "list", "batch", ...
  std::vector<std::pair<std::string, std::uint64_t>> numbers;  // by name, in the order they were given
  std::vector<FlowState> from;                                 // the states of the flows it draws on
  // Of the flow that it is the state of; null if that is not known. Not part of the position: == does not compare it.
  IdentityText identity{};

  // Number by name; throws if it is not there.
  std::uint64_t at(std::string_view name) const;
  // Throw unless this is the state of a flow of that kind that draws on that many others; unless a number has the given
  // value.
  void expect(std::string_view flow, std::size_t sources) const;
  void expect_number(std::string_view name, std::uint64_t value) const;
  // Throws if it is known to be the state of a flow of another identity.
  void expect_identity(const IdentityText& expected) const;

  bool operator==(const FlowState& other) const {
    return flow == other.flow && numbers == other.numbers && from == other.from;
  }
};

// One line of JSON, with the identity of the outermost flow. A text without one, as earlier versions wrote it, is read
// too: then only the numbers are checked.
std::string to_string(const FlowState& state);
FlowState flow_state_from_string(std::string_view text);  // throws on anything that to_string() does not write

}  // namespace belfry
#pragma GCC visibility pop
