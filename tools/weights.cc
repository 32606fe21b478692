#include "tools/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "belfry/array/npz.h"
#include "belfry/base/check.h"
#include "belfry/session/safetensors.h"
#include "belfry/session/tf_checkpoint.h"

namespace belfry::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOwnMetadata = "belfry_";  // the library's own, which it writes anew

bool is_zip(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  char begin[2] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof begin);
  return begin[0] == 'P' && begin[1] == 'K';
}

// Whether a file ends as TensorFlow's index files do.
bool is_tf_index(const std::string& path) {
  constexpr std::string_view kEnd = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
  std::ifstream file(path, std::ios::binary);
  std::array<char, kEnd.size()> end{};
  file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  return file.read(end.data(), end.size()) && std::string_view(end.data(), end.size()) == kEnd;
}

// PREFIX, PREFIX.index, PREFIX.data-00000-of-00001, or a directory whose file "checkpoint" is TensorFlow's text.
bool is_tf_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    std::string word;
    std::ifstream(fs::path(path) / "checkpoint") >> word;
    return word.starts_with("model_checkpoint_path");
  }
  const std::size_t data = path.rfind(".data-");
  return is_tf_index(path) || is_tf_index(path + ".index") ||
         (data != std::string::npos && is_tf_index(path.substr(0, data) + ".index"));
}

std::map<std::string, std::string> without_own(std::map<std::string, std::string> metadata) {
  std::erase_if(metadata, [](const auto& entry) { return entry.first.starts_with(kOwnMetadata); });
  return metadata;
}

// `path` as load_values() takes it.
Weights read_saved_values(const std::string& path) {
  SavedValues values = load_values(path);
  return {.path = values.path,
          .kind = values.state ? Weights::Kind::checkpoint : Weights::Kind::safetensors,
          .tensors = std::move(values.tensors),
          .state = std::move(values.state),
          .metadata = without_own(list_safetensors(values.path).metadata)};
}

}  // namespace

std::string name_of(Weights::Kind kind) {
  switch (kind) {
    case Weights::Kind::checkpoint: return "checkpoint";
    case Weights::Kind::safetensors: return "safetensors";
    case Weights::Kind::npz: return "npz";
    case Weights::Kind::tensorflow: return "TensorFlow's checkpoint";
  }
  return "";
}

Weights read_weights(const std::string& path) {
  if (is_zip(path) || (path.ends_with(".npz") && !fs::is_directory(path)))
    return {.path = path, .kind = Weights::Kind::npz, .tensors = read_npz(path)};
  if (is_tf_checkpoint(path))
    return {.path = path, .kind = Weights::Kind::tensorflow, .tensors = read_tf_checkpoint(path)};
  const bool is_other_name = !path.ends_with(".safetensors") && !path.ends_with(kCheckpointIndexExtension) &&
                             fs::path(path).filename() != kCheckpointIndex;
  std::error_code ignored;
  if (is_other_name && fs::is_regular_file(path, ignored)) {
    SafetensorsFile file = read_safetensors(path);
    return {.path = path, .tensors = std::move(file.tensors), .metadata = without_own(std::move(file.metadata))};
  }
  return read_saved_values(path);
}

Weights model_of(const Weights& weights) {
  BELFRY_CHECK_AS(FileError, weights.state.has_value(),
                  "[weights] expected a checkpoint, which says what belongs to the model, got '{}' ({}).", weights.path,
                  name_of(weights.kind));
  BELFRY_CHECK_AS(FileError, !weights.state->model.empty(),
                  "[weights] expected a checkpoint that says what belongs to the model, got '{}', written by a version "
                  "of Belfry that did not yet. Use `belfry drop` with the names of what belongs to the run.",
                  weights.path);
  Weights out{.path = weights.path, .kind = Weights::Kind::safetensors, .metadata = weights.metadata};
  for (const std::string& name : weights.state->model)
    if (const auto at = weights.tensors.find(name); at != weights.tensors.end()) out.tensors.insert(*at);
  return out;
}

void check_output(const std::string& path, bool force) {
  BELFRY_CHECK_AS(FileError, path.ends_with(".safetensors") || path.ends_with(".npz"),
                  "[weights] expected an output that ends in .safetensors or .npz, got '{}'.", path);
  const fs::path folder = fs::absolute(path).parent_path();
  BELFRY_CHECK_AS(FileError, fs::is_directory(folder),
                  "[weights] expected a folder for the output '{}', got none at '{}'. Make it first.", path,
                  folder.string());
  BELFRY_CHECK_AS(FileError, !fs::is_directory(path),
                  "[weights] expected a file as the output, got the directory '{}'.", path);
  BELFRY_CHECK_AS(FileError, force || !fs::exists(fs::symlink_status(path)),
                  "[weights] expected no file at '{}', got one. Choose another name, or replace it with --force.",
                  path);
}

void write_weights(const std::string& path, const Weights& weights, bool compress) {
  if (path.ends_with(".npz")) return write_npz(path, weights.tensors, {.deflate = compress});
  std::map<std::string, std::string> metadata = weights.metadata;
  if (weights.state) metadata[std::string(kCheckpointMetadata)] = to_json(*weights.state, "[weights] '" + path + "'");
  write_safetensors(path, weights.tensors, metadata);
}

std::string state_text(const Weights& weights) {
  if (!weights.state) return "";
  return fmt::format("step {}, epoch {}", weights.state->step, weights.state->epoch);
}

}  // namespace belfry::tools
