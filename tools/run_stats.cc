#include "tools/run_stats.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/quotes.h"
#include "tools/parse_json.h"

namespace belfry::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// "nan", "inf" and "-inf" are what JSON has no numbers for.
std::optional<double> number_in(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  return std::nullopt;
}

std::int64_t whole_number(const json& entry, const char* field, const std::string& where) {
  const auto at = entry.find(field);
  BELFRY_CHECK_AS(FileError, at != entry.end() && at->is_number_integer(),
                  "{}: expected a whole number for '{}', got {}. The file is damaged.", where, field,
                  at == entry.end() ? "none" : at->type_name());
  return at->get<std::int64_t>();
}

void add_entry(RunStats& out, const json& entry, const std::string& where) {
  BELFRY_CHECK_AS(FileError, entry.is_object(), "{}: expected an object, got {}. The file is damaged.", where,
                  entry.type_name());
  const std::int64_t epoch = whole_number(entry, "epoch_num", where), step = whole_number(entry, "global_step", where);
  for (const auto& [name, value] : entry.items()) {
    if (name == "epoch_num" || name == "global_step") continue;
    const std::optional<double> number = number_in(value);
    BELFRY_CHECK_AS(FileError, number.has_value(),
                    "{}: expected a number, \"nan\", \"inf\" or \"-inf\" for {}, got {}. The file is damaged.", where,
                    in_quotes(name), value.is_string() ? in_quotes(value.get<std::string>()) : value.type_name());
    out.metrics[name].push_back({.epoch = epoch, .step = step, .value = *number});
  }
}

}  // namespace

std::string stats_file_of(const std::string& run) {
  std::error_code ignored;
  return fs::is_directory(run, ignored) ? (fs::path(run) / "stats.json").string() : run;
}

RunStats read_run_stats(const std::string& run) {
  RunStats out{.file = stats_file_of(run)};
  BELFRY_CHECK_AS(FileError, fs::exists(out.file),
                  "[stats] expected the numbers of a run at '{}', got nothing there. Name a run's directory; its "
                  "JSONWriter writes stats.json at the end of the first epoch.",
                  out.file);
  const std::string where = fmt::format("[stats] '{}'", out.file);
  const json list = parse_json(read_file(out.file), where);
  BELFRY_CHECK_AS(FileError, list.is_array(), "{}: expected a list, got {}. The file is damaged.", where,
                  list.type_name());
  for (std::size_t i = 0; i < list.size(); ++i) add_entry(out, list[i], fmt::format("{}: entry {}", where, i + 1));
  return out;
}

}  // namespace belfry::tools
