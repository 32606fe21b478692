// The library's own little JSON files, read with care: an object of values, lists of values and objects of values.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace belfry::small_json {

// `where` leads every error text ("[checkpoint] 'model-1.json'"). All throw FileError. Nesting deeper than an object in
// an object, which no valid file has, is refused before memory is spent on it.
nlohmann::json parse(std::string_view text, const std::string& where);

// The field of that name; missing ones and those of another type are errors.
std::uint64_t number(const nlohmann::json& object, const char* field, const std::string& where);
std::int64_t signed_number(const nlohmann::json& object, const char* field, const std::string& where);  // 0 or more
std::vector<std::string> strings(const nlohmann::json& object, const char* field, const std::string& where);
std::map<std::string, std::string> texts(const nlohmann::json& object, const char* field, const std::string& where);
std::map<std::string, std::uint64_t> numbers(const nlohmann::json& object, const char* field, const std::string& where);

// Indented text with a newline at the end.
std::string format(const nlohmann::json& object, const std::string& where);

}  // namespace belfry::small_json
#pragma GCC visibility pop
