#include "belfry/callbacks/internal/named_values.h"

#include <nlohmann/json.hpp>

#include "belfry/base/internal/exact_number.h"

namespace belfry {

std::string to_text(const NamedValues& values) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, value] : values) out[name] = exact_text(value);
  return out.dump();
}

NamedValues named_values_from(const std::string& text) {
  NamedValues out;
  const nlohmann::json in = nlohmann::json::parse(text);
  for (const auto& [name, value] : in.items()) out[name] = exact_number(value.get<std::string>());
  return out;
}

}  // namespace belfry
