#include "belfry/loop/internal/previous_run.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "belfry/base/check.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/internal/checkpoint_index.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrevious = "previous-";
constexpr std::string_view kUnfinished = ".partial";  // appended to the name while files are moved

// 3 for "previous-3" and "previous-3.partial".
std::optional<int> number_of(std::string name) {
  if (!name.starts_with(kPrevious)) return std::nullopt;
  if (name.ends_with(kUnfinished)) name.resize(name.size() - kUnfinished.size());
  int number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + kPrevious.size(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

bool is_checkpoint(const fs::path& file) {
  const std::string stem = file.stem().string();
  const std::size_t dash = stem.rfind('-');
  return file.extension() == ".safetensors" && dash != std::string::npos &&
         is_checkpoint_name(stem, std::string_view(stem).substr(0, dash));
}

bool is_index(const fs::path& file) try {
  if (file.filename() == kCheckpointIndex) return true;
  return file.extension() == ".index" && read_checkpoint_index(file.string()).has_value();
} catch (const FileError&) {  // not one of ours
  return false;
}

bool matches(const fs::path& file, const std::string& pattern) {
  return ::fnmatch(pattern.c_str(), file.filename().c_str(), 0) == 0;
}

bool is_of_a_run(const fs::path& file, const std::vector<std::string>& patterns) {
  for (const char* own : {"stats.json", "stats.json.old*", "history.bin", "run.json"})
    if (matches(file, own)) return true;
  if (std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(file, pattern); })) return true;
  if (file.extension() != ".json") return is_checkpoint(file) || is_index(file);
  fs::path tensors = file;
  tensors.replace_extension(".safetensors");
  return is_checkpoint(tensors) && fs::exists(tensors);
}

struct Found {
  std::vector<fs::path> files;         // of an earlier run, in the order in which they are moved
  std::optional<fs::path> unfinished;  // where some of them went before a move was interrupted
  int last = 0;                        // the largest number
};

Found look(const std::string& directory, const std::vector<std::string>& patterns) {
  Found out;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::optional<int> number = number_of(entry.path().filename().string());
    if (number) out.last = std::max(out.last, *number);
    if (number && entry.path().extension() == kUnfinished) out.unfinished = entry.path();
    if (!entry.is_directory() && is_of_a_run(entry.path(), patterns)) out.files.push_back(entry.path());
  }
  std::ranges::sort(out.files);  // model-3.json before model-3.safetensors, which identifies it
  return out;
}

}  // namespace

std::string move_previous_run(const std::string& directory, const std::vector<std::string>& patterns) try {
  if (!fs::exists(directory)) return "";
  const Found found = look(directory, patterns);
  if (found.files.empty() && !found.unfinished) return "";
  const fs::path unfinished =
      found.unfinished.value_or(fs::path(directory) / fmt::format("{}{}{}", kPrevious, found.last + 1, kUnfinished));
  fs::create_directory(unfinished);
  for (const fs::path& file : found.files) fs::rename(file, unfinished / file.filename());
  fs::path done = unfinished;
  done.replace_extension();
  fs::rename(unfinished, done);
  return done.string();
} catch (const fs::filesystem_error& error) {
  fail<FileError>(
      "[run directory] expected to move what an earlier run left in '{}' aside, got: {}. Nothing is lost. Fix the "
      "cause, or choose another run_dir.",
      directory, error.what());
}

}  // namespace belfry
