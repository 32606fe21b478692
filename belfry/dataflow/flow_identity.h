// FlowIdentity: what a flow is, as far as that decides which points it gives and in which order. A kind, the parameters
// that matter, and the identities of the flows that it draws on:
//
//   list(count=6) | shuffle(seed=1) | batch(points=2, keep=no)
//
// Flows that are built alike have equal identities. Whatever changes neither the points nor their order is no part of
// it: threads, buffers, prefetch(), print_points(). Nor is what cannot be seen from here: the code of a function, the
// contents of a file.
//
// Saved positions carry it, so that one of another flow is refused, and so do the files of cache_on_disk(). It does not
// change as long as the flow lives. DataFlow::describe() is for people and decides nothing.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace belfry {

// A name and the value as text, which differs for different values.
struct FlowParameter {
  template <std::integral T>
  FlowParameter(std::string name_, T number) : name(std::move(name_)), value(std::to_string(number)) {}
  FlowParameter(std::string name, bool yes);
  FlowParameter(std::string name, double number);
  FlowParameter(std::string name, std::string_view text);
  FlowParameter(std::string name, const char* text) : FlowParameter(std::move(name), std::string_view(text)) {}
  FlowParameter(std::string name, const std::string& text) : FlowParameter(std::move(name), std::string_view(text)) {}

  std::string name, value;
  bool operator==(const FlowParameter&) const = default;
};
using FlowParameters = std::vector<FlowParameter>;

struct FlowIdentity {
  std::string kind;  // the name of the flow in states: "batch"
  FlowParameters parameters{};
  std::vector<FlowIdentity> from{};
  // Where a source finds its data: a path, an address. Data that were moved are the same data: positions are restored
  // wherever they lie, but a cache is made again.
  std::string place{};

  bool operator==(const FlowIdentity&) const = default;
};

enum class Places { name, omit };

// One line, as above; different for different identities.
std::string to_string(const FlowIdentity& identity, Places places = Places::name);

// The text that states carry, without places: shared, because a state is made for every point that is read ahead.
using IdentityText = std::shared_ptr<const std::string>;
IdentityText identity_text(const FlowIdentity& identity);

}  // namespace belfry
#pragma GCC visibility pop
