#include "tools/parse_json.h"

#include <nlohmann/json.hpp>

#include "belfry/base/check.h"

namespace belfry::tools {

nlohmann::json parse_json(std::string_view text, const std::string& where) {
  using nlohmann::json;
  constexpr int kDeepest = 8;
  const auto watch = [&](int depth, json::parse_event_t event, json&) {
    const bool opens = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    BELFRY_CHECK_AS(FileError, !opens || depth < kDeepest,
                    "{}: expected JSON of at most {} levels, got more. The file is damaged.", where, kDeepest);
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::parse_error& error) {
    const std::string what = error.what();  // "[json.exception...] parse error at line 3, column 1: ..."
    const std::size_t reason = what.find("line ");
    fail<FileError>("{}: expected JSON, got an error at {}. The file is damaged or cut short.", where,
                    reason == std::string::npos ? what : what.substr(reason));
  } catch (const json::exception&) {
    fail<FileError>("{}: expected JSON, got a number that is out of range. The file is damaged.", where);
  }
}

}  // namespace belfry::tools
