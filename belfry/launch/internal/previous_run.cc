#include "belfry/launch/internal/previous_run.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/loop/trainer.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/checkpoint_index.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrevious = "previous-";
constexpr std::string_view kUnfinished = ".partial";  // behind the name while files are moved

// Of "previous-3" and "previous-3.partial": 3.
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
} catch (const FileError&) {  // somebody else's
  return false;
}

bool is_of_a_run(const fs::path& file, const std::vector<std::string>& logs) {
  const std::string name = file.filename().string();
  if (std::ranges::any_of(logs, [&](const std::string& log) { return name == log || name.starts_with(log + ".old"); }))
    return true;
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

Found look(const std::string& run_dir, const std::vector<std::string>& logs) {
  Found out;
  for (const fs::directory_entry& entry : fs::directory_iterator(run_dir)) {
    const std::optional<int> number = number_of(entry.path().filename().string());
    if (number) out.last = std::max(out.last, *number);
    if (number && entry.path().extension() == kUnfinished) out.unfinished = entry.path();
    if (!entry.is_directory() && is_of_a_run(entry.path(), logs)) out.files.push_back(entry.path());
  }
  std::ranges::sort(out.files);  // model-3.json before model-3.safetensors, by which it is known
  return out;
}

}  // namespace

std::string move_previous_run(const std::string& run_dir, const std::vector<std::string>& logs) try {
  if (!fs::exists(run_dir)) return "";
  const Found found = look(run_dir, logs);
  if (found.files.empty() && !found.unfinished) return "";
  const fs::path unfinished =
      found.unfinished.value_or(fs::path(run_dir) / fmt::format("{}{}{}", kPrevious, found.last + 1, kUnfinished));
  fs::create_directory(unfinished);
  for (const fs::path& file : found.files) fs::rename(file, unfinished / file.filename());
  fs::path done = unfinished;
  done.replace_extension();
  fs::rename(unfinished, done);
  return done.string();
} catch (const fs::filesystem_error& error) {
  fail<FileError>(
      "[launch_train_with_config] expected to move what an earlier run left in '{}' aside, got: {}. Nothing is lost. "
      "Make that possible, or choose another run_dir.",
      run_dir, error.what());
}

bool KeepPreviousRun::continues(const std::string& run_dir) const {
  const fs::path here = fs::weakly_canonical(run_dir);
  return std::ranges::any_of(restored_from_, [&](const std::string& path) {
    const fs::path from = fs::weakly_canonical(path);
    return (is_directory(path) ? from : from.parent_path()) == here;
  });
}

void KeepPreviousRun::before_train() {
  const std::string& run_dir = trainer().run_dir();
  if (continues(run_dir)) return;
  if (const std::string moved = move_previous_run(run_dir, logs_); !moved.empty())
    log_info(fmt::format("'{}' held the files of an earlier run: now they are in '{}'.", run_dir, moved));
}

}  // namespace belfry
