#include "tools/json_output.h"

#include <fmt/core.h>

#include <cmath>

namespace belfry::tools {

Json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

void print_json(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace belfry::tools
