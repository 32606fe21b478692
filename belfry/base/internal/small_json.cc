#include "belfry/base/internal/small_json.h"

#include <limits>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/internal/quotes.h"

namespace belfry::small_json {
namespace {

using nlohmann::json;

const json& member(const json& object, const char* field, const std::string& where) {
  const auto at = object.find(field);
  BELFRY_CHECK_AS(FileError, at != object.end(), "{}: expected a field '{}', got none. The file is damaged.", where,
                  field);
  return *at;
}

[[noreturn]] void refuse(const char* expected, const char* field, const json& got, const std::string& where) {
  fail<FileError>("{}: expected {} for '{}', got {}. The file is damaged.", where, expected, field, got.type_name());
}

}  // namespace

json parse(std::string_view text, const std::string& where) {
  std::vector<std::set<std::string>> seen;  // by open object: its fields so far, as the parser lets the last one win
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    BELFRY_CHECK_AS(FileError, !opens || depth <= 1, "{}: expected JSON of two levels, got more. The file is damaged.",
                    where);
    if (event == Event::object_start) seen.emplace_back();
    if (event == Event::object_end) seen.pop_back();
    if (event == Event::key) {
      const std::string& field = value.get_ref<const std::string&>();
      BELFRY_CHECK_AS(FileError, seen.back().insert(field).second,
                      "{}: expected every field once, got {} twice. The file is damaged.", where, in_quotes(field));
    }
    return true;
  };
  json out;
  try {
    out = json::parse(text, watch);
  } catch (const json::parse_error& e) {
    fail<FileError>("{}: expected well-formed JSON, got an error at byte {} of {}. The file is damaged.", where, e.byte,
                    text.size());
  } catch (const json::out_of_range&) {
    fail<FileError>("{}: expected numbers that fit 64 bits, got a larger one. The file is damaged.", where);
  }
  BELFRY_CHECK_AS(FileError, out.is_object(), "{}: expected a JSON object, got {}. The file is damaged.", where,
                  out.type_name());
  return out;
}

std::uint64_t number(const json& object, const char* field, const std::string& where) {
  const json& value = member(object, field, where);
  if (!value.is_number_unsigned()) refuse("a whole number of 0 or more", field, value, where);
  return value.get<std::uint64_t>();
}

std::int64_t signed_number(const json& object, const char* field, const std::string& where) {
  const std::uint64_t value = number(object, field, where);
  BELFRY_CHECK_AS(FileError, value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
                  "{}: expected a number below 2^63 for '{}', got {}. The file is damaged.", where, field, value);
  return static_cast<std::int64_t>(value);
}

std::vector<std::string> strings(const json& object, const char* field, const std::string& where) {
  const json& list = member(object, field, where);
  if (!list.is_array()) refuse("a list", field, list, where);
  std::vector<std::string> out;
  for (const json& item : list) {
    if (!item.is_string()) refuse("a list of strings", field, item, where);
    out.push_back(item.get<std::string>());
  }
  return out;
}

std::map<std::string, std::string> texts(const json& object, const char* field, const std::string& where) {
  const json& inner = member(object, field, where);
  if (!inner.is_object()) refuse("an object", field, inner, where);
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : inner.items()) {
    if (!value.is_string()) refuse("an object of strings", field, value, where);
    out.emplace(key, value.get<std::string>());
  }
  return out;
}

std::map<std::string, std::uint64_t> numbers(const json& object, const char* field, const std::string& where) {
  const json& inner = member(object, field, where);
  if (!inner.is_object()) refuse("an object", field, inner, where);
  std::map<std::string, std::uint64_t> out;
  for (const auto& [key, value] : inner.items()) {
    if (!value.is_number_unsigned()) refuse("an object of whole numbers", field, value, where);
    out.emplace(key, value.get<std::uint64_t>());
  }
  return out;
}

std::string format(const json& object, const std::string& where) {
  try {
    return object.dump(2) + "\n";
  } catch (const json::exception&) {
    fail<FileError>("{}: expected text in UTF-8, got other bytes. Encode binary state, for example as hex.", where);
  }
}

}  // namespace belfry::small_json
