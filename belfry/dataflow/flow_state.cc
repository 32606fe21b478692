#include "belfry/dataflow/flow_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "belfry/base/check.h"

namespace belfry {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFlow = "flow";
constexpr const char* kFrom = "from";
constexpr const char* kIdentity = "identity";
constexpr int kMaxDepth = 200;  // compositions are a few deep; a text from outside must not exhaust the stack

Json to_json(const FlowState& state) {
  Json json = {{kFlow, state.flow}};
  for (const auto& [name, value] : state.numbers) json[name] = value;
  for (const FlowState& source : state.from) json[kFrom].push_back(to_json(source));
  return json;
}

// For error texts. Lists and objects by their kind alone: writing one out takes as much stack as it is deep.
std::string shown(const Json& json) { return json.is_structured() ? json.type_name() : json.dump().substr(0, 80); }

FlowState from_json(const Json& json, int depth) {
  BELFRY_CHECK(depth < kMaxDepth, "[flow state] expected flows nested at most {} deep, got more.", kMaxDepth);
  BELFRY_CHECK(json.is_object() && json.contains(kFlow) && json[kFlow].is_string(),
               "[flow state] expected an object that names its \"flow\", got {}.", shown(json));
  FlowState state{.flow = json[kFlow].get<std::string>(), .numbers = {}, .from = {}};
  for (const auto& [name, value] : json.items()) {
    if (name == kFlow) continue;
    if (name == kFrom) {
      BELFRY_CHECK(value.is_array(), "[flow state] expected a list in \"from\" of '{}', got {}.", state.flow,
                   shown(value));
      for (const Json& source : value) state.from.push_back(from_json(source, depth + 1));
    } else if (name == kIdentity && depth == 0) {
      BELFRY_CHECK(value.is_string(), "[flow state] expected a text for the identity of '{}', got {}.", state.flow,
                   shown(value));
      state.identity = std::make_shared<const std::string>(value.get<std::string>());
    } else {
      BELFRY_CHECK(value.is_number_unsigned(), "[flow state] expected a whole number for '{}' of '{}', got {}.", name,
                   state.flow, shown(value));
      state.numbers.emplace_back(name, value.get<std::uint64_t>());
    }
  }
  return state;
}

}  // namespace

std::uint64_t FlowState::at(std::string_view name) const {
  const auto found = std::ranges::find(numbers, name, [](const auto& entry) { return std::string_view(entry.first); });
  BELFRY_CHECK(found != numbers.end(), "[restore] expected a state of '{}' with '{}', got {}.", flow, name,
               to_string(*this));
  return found->second;
}

void FlowState::expect(std::string_view kind, std::size_t sources) const {
  BELFRY_CHECK(flow == kind && from.size() == sources,
               "[restore] expected the state of '{}' over {} flow(s), got that of '{}' over {}. A state fits only the "
               "composition that it was taken from.",
               kind, sources, flow, from.size());
}

void FlowState::expect_number(std::string_view name, std::uint64_t value) const {
  BELFRY_CHECK(
      at(name) == value,
      "[restore] expected a state of '{}' with {} = {}, got {}. The flow must be built as it was when the state "
      "was taken.",
      flow, name, value, at(name));
}

void FlowState::expect_identity(const IdentityText& expected) const {
  BELFRY_CHECK(identity == nullptr || expected == nullptr || *identity == *expected,
               "[restore] expected a position of '{}', got one of '{}'. The flow must be built as it was when the "
               "position was saved.",
               *expected, *identity);
}

std::string to_string(const FlowState& state) {
  Json json = to_json(state);
  if (state.identity != nullptr) json[kIdentity] = *state.identity;
  return json.dump();
}

FlowState flow_state_from_string(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  BELFRY_CHECK(!json.is_discarded(), "[flow state] expected JSON text, got '{}'.", text.substr(0, 80));
  return from_json(json, 0);
}

}  // namespace belfry
