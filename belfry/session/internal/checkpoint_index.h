// The index file of a directory of checkpoints.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry {

// Names are without extension: "model-1200".
struct CheckpointIndex {
  std::vector<std::string> kept;      // oldest first
  std::vector<std::string> removing;  // no longer kept, and their files perhaps not removed yet
};

// Nothing if there is no such file. Its names refer only to files in its own directory. Throws FileError.
std::optional<CheckpointIndex> read_checkpoint_index(const std::string& path);
void write_checkpoint_index(const std::string& path, const CheckpointIndex& index);

// Whether `name` is `<prefix>-<step>`, the step in plain digits.
bool is_checkpoint_name(std::string_view name, std::string_view prefix);

// "directory/name", also where the directory ends in a slash.
std::string path_in(const std::string& directory, std::string_view name);
// Splits "directory/min-error" into the directory, "." if there is none, and the name in it.
std::pair<std::string, std::string> directory_and_name(const std::string& path);
bool file_exists(const std::string& path);
bool is_directory(const std::string& path);

}  // namespace belfry
