#include "belfry/session/internal/checkpoint_index.h"

#include <sys/stat.h>

#include <algorithm>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/small_json.h"

namespace belfry {
namespace {

std::string where_of_index(const std::string& path) { return fmt::format("[checkpoint] the index '{}'", path); }

std::vector<std::string> names_in(const nlohmann::json& in, const char* field, const std::string& where) {
  std::vector<std::string> names = small_json::strings(in, field, where);
  for (const std::string& name : names) {
    const std::size_t dash = name.rfind('-');
    const bool is_valid = dash != std::string::npos && dash > 0 && name.find('/') == std::string::npos &&
                          name.find('\0') == std::string::npos &&
                          is_checkpoint_name(name, std::string_view(name).substr(0, dash));
    BELFRY_CHECK_AS(FileError, is_valid,
                    "{}: expected names of checkpoints next to it, like 'model-100', got {}. The file is damaged.",
                    where, in_quotes(name));
  }
  return names;
}

}  // namespace

std::string path_in(const std::string& directory, std::string_view name) {
  return fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", name);
}

bool file_exists(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0;
}

bool is_directory(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

std::pair<std::string, std::string> directory_and_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

bool is_checkpoint_name(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.substr(prefix.size()).starts_with('-')) return false;
  const std::string_view step = name.substr(prefix.size() + 1);
  return !step.empty() && std::ranges::all_of(step, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<CheckpointIndex> read_checkpoint_index(const std::string& path) {
  if (!file_exists(path)) return std::nullopt;
  const std::string where = where_of_index(path);
  const nlohmann::json in = small_json::parse(read_file(path), where);
  return CheckpointIndex{.kept = names_in(in, "checkpoints", where), .removing = names_in(in, "removing", where)};
}

void write_checkpoint_index(const std::string& path, const CheckpointIndex& index) {
  write_file_atomically(
      path, small_json::format({{"checkpoints", index.kept}, {"removing", index.removing}}, where_of_index(path)));
}

}  // namespace belfry
