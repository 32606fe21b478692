#include "belfry/session/internal/checkpoint_search.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/log.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/internal/checkpoint_files.h"
#include "belfry/session/internal/checkpoint_index.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

using FileTime = std::pair<std::int64_t, std::int64_t>;  // seconds, nanoseconds

std::optional<FileTime> time_of(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
  return FileTime(facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

struct CheckpointMain {
  std::string name;  // without the extension
  FileTime time;
  std::int64_t step = 0;
};

// Of "model-1200"; the largest for more digits than fit.
std::int64_t step_in(std::string_view name) {
  const std::string_view digits = name.substr(name.rfind('-') + 1);
  std::int64_t step = std::numeric_limits<std::int64_t>::max();
  std::from_chars(digits.data(), digits.data() + digits.size(), step);
  return step;
}

std::string prefix_of(std::string_view name) { return std::string(name.substr(0, name.rfind('-'))); }

// The main files of checkpoints, of all savers, in the order in which they were written.
std::vector<CheckpointMain> files_in(const std::string& directory) {
  std::vector<CheckpointMain> out;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string file = at->path().filename().string();
    const std::string name = at->path().stem().string();
    if (checkpoint_file(name) != file || !stem_of_shard(file).empty() || is_directory(at->path().string())) continue;
    if (name.find('-') == std::string::npos || !is_checkpoint_name(name, prefix_of(name))) continue;
    if (const auto time = time_of(at->path().string()))
      out.push_back({.name = name, .time = *time, .step = step_in(name)});
  }
  std::ranges::sort(out, {}, [](const CheckpointMain& f) { return std::tuple(f.time, f.step, f.name); });
  return out;
}

// What `index` is the index of, where it does not say so itself. "checkpoint" may be any saver's: "model" is the usual
// prefix; without such files, all that have no index of their own.
bool belongs(const std::string& prefix, const std::string& directory, const std::string& index, bool has_model) {
  if (index.ends_with(kCheckpointIndexExtension)) return prefix + std::string(kCheckpointIndexExtension) == index;
  if (index != kCheckpointIndex) return false;
  if (has_model) return prefix == "model";
  return !file_exists(path_in(directory, prefix + std::string(kCheckpointIndexExtension)));
}

std::optional<CheckpointIndex> index_if_good(const std::string& path) try {
  return read_checkpoint_index(path);
} catch (const FileError& error) {
  log_warning(fmt::format("{} The directory is searched for checkpoints instead.", error.what()));
  return std::nullopt;
}

// Newest first: what is tried one after the other.
std::vector<std::string> in_order_of_trial(const CheckpointsFound& found) {
  std::vector<std::string> out;
  for (const auto* names : {&found.unlisted, &found.listed, &found.strangers, &found.removing})
    out.insert(out.end(), names->rbegin(), names->rend());
  return out;
}

struct Trial {
  std::optional<Checkpoint> checkpoint;
  std::string damaged;  // those that could not be used, and why
};

Trial try_all(const std::string& directory, const CheckpointsFound& found) {
  Trial out;
  const auto is_in = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  for (const std::string& name : in_order_of_trial(found)) {
    const std::string path = checkpoint_file(path_in(directory, name));
    if (!file_exists(path)) {
      if (is_in(found.listed, name))
        log_warning(
            fmt::format("[checkpoint] '{}' is in the index but does not exist: looking for an older one", path));
      continue;
    }
    try {
      out.checkpoint = read_checkpoint(path);
      if (found.has_index && !is_in(found.listed, name))
        log_info(fmt::format("[checkpoint] '{}' is complete, though the index does not list it: it is used", path));
      return out;
    } catch (const NewerCheckpoint&) {
      throw;
    } catch (const FileError& error) {
      const std::string reason = reason_in(error, path);
      log_warning(fmt::format("[checkpoint] '{}' is damaged ({}): the one before it is used", path, reason));
      out.damaged += fmt::format("\n  '{}': {}", path, reason);
    }
  }
  return out;
}

std::string text_if_there(const std::string& path) try { return read_file(path); } catch (const FileError&) {
  return "";
}

}  // namespace

CheckpointsFound find_checkpoints(const std::string& directory, const std::string& index, std::string_view prefix) {
  const std::string path = path_in(directory, index);
  const std::optional<FileTime> index_time = time_of(path);
  const auto read = index_if_good(path);
  CheckpointsFound out{.has_index = read.has_value(), .listed = {}, .unlisted = {}, .strangers = {}, .removing = {}};
  if (read) std::tie(out.listed, out.removing) = std::pair(read->kept, read->removing);

  std::set<std::string> known(out.listed.begin(), out.listed.end()), prefixes;
  known.insert(out.removing.begin(), out.removing.end());
  if (!prefix.empty()) prefixes.emplace(prefix);
  const std::vector<CheckpointMain> files = files_in(directory);
  // An index that knows none of the files says nothing about whose they are.
  if (prefix.empty())
    for (const CheckpointMain& file : files)
      if (known.contains(file.name)) prefixes.insert(prefix_of(file.name));
  const bool has_model =
      std::ranges::any_of(files, [](const CheckpointMain& f) { return prefix_of(f.name) == "model"; });
  for (const CheckpointMain& file : files) {
    const std::string its = prefix_of(file.name);
    const bool is_ours = prefixes.empty() ? belongs(its, directory, index, has_model) : prefixes.contains(its);
    if (!is_ours || known.contains(file.name)) continue;
    const bool is_since = !read || file.time >= *index_time;
    (is_since ? out.unlisted : out.strangers).push_back(file.name);
  }
  return out;
}

std::optional<Checkpoint> load_latest_checkpoint(const std::string& directory, const std::string& index) {
  constexpr int kAttempts = 5;  // a saver that is at work may remove what its index said a moment ago
  std::string damaged;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string before = text_if_there(path_in(directory, index));
    Trial trial = try_all(directory, find_checkpoints(directory, index));
    if (trial.checkpoint) return std::move(trial.checkpoint);
    damaged = std::move(trial.damaged);
    if (text_if_there(path_in(directory, index)) == before) break;
  }
  BELFRY_CHECK_AS(FileError, damaged.empty(),
                  "[checkpoint] expected a complete checkpoint in '{}', got only damaged ones:{}\nPut a copy of one "
                  "there, or start anew in another directory.",
                  directory, damaged);
  return std::nullopt;
}

std::optional<std::string> latest_checkpoint(const std::string& directory, const std::string& index) {
  auto checkpoint = load_latest_checkpoint(directory, index);
  if (!checkpoint) return std::nullopt;
  return std::move(checkpoint->path);
}

std::vector<ListedCheckpoint> list_checkpoints(const std::string& directory) {
  BELFRY_CHECK_AS(FileError, is_directory(directory), "[checkpoint] expected a directory, got '{}'.", directory);
  std::vector<ListedCheckpoint> out;
  for (const CheckpointMain& file : files_in(directory)) {
    ListedCheckpoint& entry = out.emplace_back();
    entry = {.path = checkpoint_file(path_in(directory, file.name)), .prefix = prefix_of(file.name), .step = file.step};
    try {
      entry.bytes = check_checkpoint(entry.path);
    } catch (const FileError& error) {
      entry.problem = reason_in(error, entry.path);
    }
  }
  std::ranges::sort(out, {}, [](const ListedCheckpoint& c) { return std::tie(c.prefix, c.step, c.path); });
  return out;
}

}  // namespace belfry
