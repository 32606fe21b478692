// What a path to a checkpoint means: a file, a directory, or the name of a saver's index.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/internal/checkpoint_files.h"
#include "belfry/session/internal/checkpoint_index.h"

namespace belfry {
namespace {

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
    if (const std::string file = at->path().filename(); checkpoint_file(file) == file && stem_of_shard(file).empty())
      names.push_back(at->path().stem());
  std::ranges::copy_if(names, std::back_inserter(steps), [&](const auto& n) { return is_checkpoint_name(n, name); });
  if (steps.empty()) return did_you_mean(name, names);
  return fmt::format(" Did you mean '{}'?", *std::ranges::max_element(steps, [](const auto& a, const auto& b) {
                       return std::pair(a.size(), a) < std::pair(b.size(), b);  // the larger number
                     }));
}

// The file that `path` names; nothing if it means the latest of several.
std::optional<std::string> file_named_by(const std::string& path) {
  std::string file = checkpoint_file(path);
  if (file_exists(file) && !is_directory(file)) return file;
  return std::nullopt;
}

Checkpoint latest_in_directory(const std::string& path) {
  auto latest = load_latest_checkpoint(path);
  BELFRY_CHECK_AS(FileError, latest.has_value(),
                  "[checkpoint] expected a directory with checkpoints, got '{}', {}. Name one of its files if there is "
                  "one, like '{}'.",
                  path,
                  file_exists(path_in(path, kCheckpointIndex)) ? "whose index lists none that still exists"
                                                               : "which has no index file ('checkpoint')",
                  path_in(path, "model-100"));
  return *std::move(latest);
}

Checkpoint latest_of_index(const std::string& path) {
  const std::string index = index_meant_by(path);
  BELFRY_CHECK_AS(FileError, !index.empty(),
                  "[checkpoint] expected a checkpoint or a directory of checkpoints, got '{}', which is neither.{}",
                  path, checkpoints_near(path));
  const auto [directory, name] = directory_and_name(index);
  auto latest = load_latest_checkpoint(directory, name);
  BELFRY_CHECK_AS(FileError, latest.has_value(),
                  "[checkpoint] expected a checkpoint, got '{}', whose index '{}' lists none that still exists.", path,
                  index);
  return *std::move(latest);
}

Checkpoint latest_meant_by(const std::string& path) {
  return is_directory(path) ? latest_in_directory(path) : latest_of_index(path);
}

}  // namespace

std::string find_checkpoint(const std::string& path) {
  if (auto file = file_named_by(path)) return *std::move(file);
  return latest_meant_by(path).path;
}

Checkpoint load_checkpoint(const std::string& path) {
  const auto file = file_named_by(path);
  return file ? read_checkpoint(*file) : latest_meant_by(path);
}

SavedValues load_values(const std::string& path) {
  if (const auto file = file_named_by(path)) return read_saved(*file);
  Checkpoint latest = latest_meant_by(path);
  return {.tensors = std::move(latest.tensors), .state = std::move(latest.state), .path = std::move(latest.path)};
}

}  // namespace belfry
