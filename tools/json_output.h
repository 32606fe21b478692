// What --json prints: one document on stdout.
#pragma once

#include <nlohmann/json.hpp>

namespace belfry::tools {

using Json = nlohmann::ordered_json;

// JSON has no NaN or infinity: those are the strings "nan", "inf" and "-inf", as in stats.json.
Json json_number(double value);

// Bytes that are not UTF-8 are replaced.
void print_json(const Json& document);

}  // namespace belfry::tools
