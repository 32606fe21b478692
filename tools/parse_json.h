// JSON that a run left: what reads it checks the rest.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace belfry::tools {

// Throws FileError, which `where` begins, if it is not JSON, cut short, or nested deeper than what a run writes.
nlohmann::json parse_json(std::string_view text, const std::string& where);

}  // namespace belfry::tools
