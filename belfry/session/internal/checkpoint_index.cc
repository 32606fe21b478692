#include "belfry/session/internal/checkpoint_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/base/internal/small_json.h"
#include "belfry/base/log.h"
#include "belfry/session/checkpoint.h"

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

// Splits "directory/min-error" into the directory and the name in it.
std::pair<std::string, std::string> directory_and_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// The index that `path` means, "directory/min-error" or a file like "directory/min-error.index"; "" if there is none.
std::string index_meant_by(const std::string& path) {
  const std::string name = directory_and_name(path).second;
  if (const std::string index = path + std::string(kCheckpointIndexExtension); file_exists(index)) return index;
  return (name == kCheckpointIndex || name.ends_with(kCheckpointIndexExtension)) && file_exists(path) ? path : "";
}

// " Did you mean ...": the newest checkpoint of that name next to it, or otherwise those with similar names.
std::string checkpoints_near(const std::string& path) {
  namespace fs = std::filesystem;
  const auto [directory, name] = directory_and_name(path);
  std::vector<std::string> names, steps;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == fs::path(checkpoint_file("")).native()) names.push_back(at->path().stem());
  std::ranges::copy_if(names, std::back_inserter(steps), [&](const auto& n) { return is_checkpoint_name(n, name); });
  if (steps.empty()) return did_you_mean(name, names);
  return fmt::format(" Did you mean '{}'?", *std::ranges::max_element(steps, [](const auto& a, const auto& b) {
                       return std::pair(a.size(), a) < std::pair(b.size(), b);  // the larger number
                     }));
}

// The latest checkpoint in a saver's index, for a path that is neither a checkpoint nor a directory.
std::string latest_by_index(const std::string& path) {
  const std::string index = index_meant_by(path);
  BELFRY_CHECK_AS(FileError, !index.empty(),
                  "[checkpoint] expected a checkpoint or a directory of checkpoints, got '{}', which is neither.{}",
                  path, checkpoints_near(path));
  const auto [directory, name] = directory_and_name(index);
  const auto latest = latest_checkpoint(directory, name);
  BELFRY_CHECK_AS(FileError, latest.has_value(),
                  "[checkpoint] expected a checkpoint, got '{}', whose index '{}' lists none that still exists.", path,
                  index);
  return *latest;
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

std::optional<std::string> latest_checkpoint(const std::string& directory, const std::string& index) {
  const auto listed = read_checkpoint_index(path_in(directory, index));
  if (!listed) return std::nullopt;
  for (auto name = listed->kept.rbegin(); name != listed->kept.rend(); ++name) {
    const std::string path = checkpoint_file(path_in(directory, *name));
    if (file_exists(path)) return path;
    log_warning(fmt::format("[checkpoint] '{}' is in the index but does not exist: looking for an older one", path));
  }
  return std::nullopt;
}

std::string find_checkpoint(const std::string& path) {
  const std::string file = checkpoint_file(path);
  if (!is_directory(path) && !file_exists(file)) return latest_by_index(path);
  if (!is_directory(path) || (file_exists(file) && !is_directory(file))) return file;
  const auto latest = latest_checkpoint(path);
  BELFRY_CHECK_AS(FileError, latest.has_value(),
                  "[checkpoint] expected a directory with checkpoints, got '{}', {}. Name one of its files if there is "
                  "one, like '{}'.",
                  path,
                  file_exists(path_in(path, kCheckpointIndex)) ? "whose index lists none that still exists"
                                                               : "which has no index file ('checkpoint')",
                  path_in(path, "model-100"));
  return *latest;
}

}  // namespace belfry
