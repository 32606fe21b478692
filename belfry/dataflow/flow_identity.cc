#include "belfry/dataflow/flow_identity.h"

#include <algorithm>

#include "belfry/base/internal/exact_number.h"

namespace belfry {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// Users name some kinds: what could be taken for the signs around it is put in quotes.
std::string kind_text(const std::string& kind) {
  const bool plain = !kind.empty() && std::ranges::all_of(kind, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return plain ? kind : quoted(kind);
}

}  // namespace

FlowParameter::FlowParameter(std::string name_, bool yes) : name(std::move(name_)), value(yes ? "yes" : "no") {}
FlowParameter::FlowParameter(std::string name_, double number) : name(std::move(name_)), value(exact_text(number)) {}
FlowParameter::FlowParameter(std::string name_, std::string_view text) : name(std::move(name_)), value(quoted(text)) {}

std::string to_string(const FlowIdentity& identity, Places places) {
  std::vector<std::string> inside;
  if (identity.from.size() > 1)
    for (const FlowIdentity& source : identity.from) inside.push_back(to_string(source, places));
  if (!identity.place.empty() && places == Places::name) inside.push_back("at=" + quoted(identity.place));
  for (const FlowParameter& parameter : identity.parameters) inside.push_back(parameter.name + "=" + parameter.value);

  std::string text = identity.from.size() == 1 ? to_string(identity.from[0], places) + " | " : "";
  text += kind_text(identity.kind);
  for (std::size_t i = 0; i < inside.size(); ++i) text += (i == 0 ? "(" : ", ") + inside[i];
  return inside.empty() ? text : text + ")";
}

IdentityText identity_text(const FlowIdentity& identity) {
  return std::make_shared<const std::string>(to_string(identity, Places::omit));
}

}  // namespace belfry
