#include "belfry/session/checkpoint_writer.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/descriptor.h"
#include "belfry/base/log.h"
#include "belfry/session/internal/checkpoint_files.h"
#include "belfry/session/internal/checkpoint_index.h"
#include "belfry/session/internal/checkpoint_search.h"
#include "belfry/session/internal/checkpoint_shards.h"
#include "belfry/session/safetensors.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kTensors = ".safetensors", kState = ".json";

std::string made_directory(const std::string& wanted) {
  BELFRY_CHECK_AS(FileError, !wanted.empty(), "[Saver] expected a directory for checkpoints, got an empty path.");
  std::error_code error;
  // Absolute: the working directory may have changed when the background thread writes.
  const std::string path = fs::absolute(wanted, error).string();
  if (error) fail_system("make the directory", wanted, error.value());
  make_directories(path);
  return path;
}

void check_name(std::string_view what, const std::string& name) {
  const bool is_plain =
      !name.empty() && name[0] != '.' && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  BELFRY_CHECK_AS(FileError, is_plain,
                  "[Saver] expected {} that is a plain file name, got '{}'. Put directories into .directory.", what,
                  name);
}

bool is_alive(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

// The process in a name that AtomicFile gives to the temporary of `<stem>`: "<stem>.tmp-<pid>-<n>".
struct Temporary {
  std::string_view stem;
  pid_t writer = 0;
};

std::optional<Temporary> temporary_from(std::string_view name) {
  constexpr std::string_view kMark = ".tmp-";
  const std::size_t mark = name.rfind(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  const char* at = name.data() + mark + kMark.size();
  const char* end = name.data() + name.size();
  Temporary out{.stem = name.substr(0, mark)};
  // Positive only: kill() takes 0 and negative numbers for groups of processes.
  const auto [dash, pid_error] = std::from_chars(at, end, out.writer);
  if (pid_error != std::errc() || out.writer <= 0 || dash == end || *dash != '-') return std::nullopt;
  unsigned number = 0;
  const auto [last, number_error] = std::from_chars(dash + 1, end, number);
  if (number_error != std::errc() || last != end) return std::nullopt;
  return out;
}

bool is_file_of(std::string_view name, const SaverOptions& options) {
  if (name == options.index) return true;
  if (const std::string_view owner = stem_of_shard(name); !owner.empty())
    return is_checkpoint_name(owner, options.prefix);
  for (const std::string_view extension : {kTensors, kState})
    if (name.ends_with(extension))
      return is_checkpoint_name(name.substr(0, name.size() - extension.size()), options.prefix);
  return false;
}

void remove_temporaries_of_the_dead(const SaverOptions& options) {
  std::error_code error;
  for (fs::directory_iterator at(options.directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const auto temporary = temporary_from(name);
    if (!temporary || !is_file_of(temporary->stem, options) || is_alive(temporary->writer)) continue;
    if (::unlink(at->path().c_str()) == 0)
      log_info(fmt::format("[Saver] removed '{}', left by process {} that ended while writing", at->path().string(),
                           temporary->writer));
  }
}

// Files of values whose checkpoint never became complete. Not those that are newer than the index: another process may
// be about to complete them.
void remove_shards_of_the_dead(const SaverOptions& options) {
  std::error_code error;
  const auto limit = fs::last_write_time(path_in(options.directory, options.index), error);
  if (error) return;
  for (fs::directory_iterator at(options.directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const std::string owner(stem_of_shard(name));
    if (owner.empty() || !is_checkpoint_name(owner, options.prefix)) continue;
    if (file_exists(checkpoint_file(path_in(options.directory, owner)))) continue;
    std::error_code ignored;
    if (fs::last_write_time(at->path(), ignored) >= limit || ignored) continue;
    if (::unlink(at->path().c_str()) == 0)
      log_info(fmt::format("[Saver] removed '{}', of a checkpoint that was never completed", at->path().string()));
  }
}

// False if something is still there. The .json goes first: one without tensors beside it would mislead. Shards go last:
// without them, the main file would be that of a damaged checkpoint.
bool remove_checkpoint(const std::string& directory, const std::string& name) {
  for (const std::string_view extension : {kState, kTensors}) {
    const std::string path = path_in(directory, name) + std::string(extension);
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) continue;
    log_warning(fmt::format("[Saver] expected to remove the old checkpoint '{}', got: {}. The next save tries again.",
                            path, std::generic_category().message(errno)));
    return false;
  }
  return remove_shards(directory, name, {});
}

std::uint64_t bytes_of_values(const std::map<std::string, Array>& tensors) {
  std::uint64_t out = 0;
  for (const auto& [name, array] : tensors) out += array.bytes();
  return out;
}

std::vector<std::string> names_of(const Shards& shards) {
  std::vector<std::string> out;
  for (const auto& [name, shard] : shards) out.push_back(name);
  return out;
}

}  // namespace

void check_saver_options(const SaverOptions& options) {
  check_name("a prefix", options.prefix);
  check_name("an index", options.index);
  BELFRY_CHECK(options.keep >= 0, "[Saver] expected to keep 1 checkpoint or more, or 0 for all, got {}.", options.keep);
  BELFRY_CHECK(options.keep_every_hours >= 0, "[Saver] expected keep_every_hours of 0 or more, got {}.",
               options.keep_every_hours);
}

CheckpointWriter::CheckpointWriter(SaverOptions options) : options_(std::move(options)) {
  check_saver_options(options_);
  options_.directory = made_directory(options_.directory);
  adopt();
  remove_temporaries_of_the_dead(options_);
  remove_shards_of_the_dead(options_);
}

// Those that are gone or damaged must not count as kept: the last usable one would be removed for them.
void CheckpointWriter::adopt() {
  CheckpointsFound found = find_checkpoints(options_.directory, options_.index, options_.prefix);
  for (const auto* names : {&found.listed, &found.removing})
    for (const std::string& name : *names)
      BELFRY_CHECK_AS(FileError, is_checkpoint_name(name, options_.prefix),
                      "[Saver] expected checkpoints called '{}-<step>' in the index '{}', got '{}' of another saver. "
                      "Give each saver of a directory its own .index.",
                      options_.prefix, path_in(options_.directory, options_.index), name);
  removing_ = std::move(found.removing);
  for (const auto* names : {&found.listed, &found.unlisted})
    for (const std::string& name : *names) {
      const std::string path = checkpoint_file(path_in(options_.directory, name));
      const bool is_listed = names == &found.listed;
      if (!file_exists(path)) continue;
      try {
        check_checkpoint(path);
      } catch (const FileError& error) {
        if (is_listed)
          log_warning(fmt::format("[Saver] '{}' is damaged ({}): it does not count as kept, and stays where it is",
                                  path, reason_in(error, path)));
        continue;
      }
      if (!is_listed) log_info(fmt::format("[Saver] '{}' is complete, and kept like those in the index", path));
      kept_.push_back(name);
    }
}

void CheckpointWriter::enter(SaveStage stage) const {
  if (options_.on_stage) options_.on_stage(stage);
}

void CheckpointWriter::write_files(const std::string& name, const std::map<std::string, Array>& tensors,
                                   const std::string& state, const std::vector<std::string>& after) {
  const std::string stem = path_in(options_.directory, name);
  enter(SaveStage::tensors);
  for (const std::string& path : after) sync_file(path);
  write_tensors(name, tensors, state);
  enter(SaveStage::state);
  write_file_atomically(stem + std::string(kState), state);
  enter(SaveStage::index);
  write_index(name);
}

// The file with the state comes last: with it the checkpoint is complete, and what it replaces may go.
void CheckpointWriter::write_tensors(const std::string& name, const std::map<std::string, Array>& tensors,
                                     const std::string& state) {
  const std::string file = checkpoint_file(path_in(options_.directory, name));
  std::map<std::string, std::string> metadata{{std::string(kCheckpointMetadata), state}};
  Shards shards;
  const bool is_sharded = options_.shard_bytes > 0 && bytes_of_values(tensors) > options_.shard_bytes;
  if (is_sharded) {
    shards = write_shards(options_.directory, name, tensors, options_.shard_bytes);
    metadata.emplace(kShardsMetadata, shards_to_json(shards, where_of_checkpoint(file)));
  }
  write_safetensors(file, is_sharded ? std::map<std::string, Array>() : tensors, metadata);
  remove_shards(options_.directory, name, names_of(shards));
}

// Whether a checkpoint that is not among the newest any more is one of those that stay every few hours.
bool CheckpointWriter::stays(const std::string& name) {
  struct stat facts{};
  const double wanted = options_.keep_every_hours * 3600;
  if (wanted <= 0 || ::stat(checkpoint_file(path_in(options_.directory, name)).c_str(), &facts) != 0) return false;
  if (static_cast<double>(facts.st_mtime - last_that_stays_) < wanted) return false;
  last_that_stays_ = facts.st_mtime;
  return true;
}

void CheckpointWriter::write_index(const std::string& name) {
  CheckpointIndex next{.kept = kept_, .removing = removing_};
  std::erase(next.kept, name);
  std::erase(next.removing, name);
  next.kept.push_back(name);
  if (const auto keep = static_cast<std::size_t>(options_.keep); keep > 0 && next.kept.size() > keep) {
    const auto first_kept = next.kept.end() - options_.keep;
    std::copy_if(next.kept.begin(), first_kept, std::back_inserter(next.removing),
                 [this](const std::string& old) { return !stays(old); });
    next.kept.erase(next.kept.begin(), first_kept);
  }
  write_checkpoint_index(path_in(options_.directory, options_.index), next);
  kept_ = std::move(next.kept);
  removing_ = std::move(next.removing);
}

std::string CheckpointWriter::write(std::int64_t step, const std::map<std::string, Array>& tensors,
                                    CheckpointState state, const std::vector<std::string>& after) {
  BELFRY_CHECK(step >= 0, "[Saver] expected a step of 0 or more, got {}.", step);
  state.step = step;
  const std::string name = fmt::format("{}-{}", options_.prefix, step);
  const std::string file = checkpoint_file(path_in(options_.directory, name));
  const bool is_new = !file_exists(file);
  std::vector<std::string> needed = shards_in_directory(options_.directory, name);
  try {
    write_files(name, tensors, to_json(state, where_of_checkpoint(path_in(options_.directory, name))), after);
  } catch (...) {
    // It is not in the index: whoever asked for it is told that it was not saved. One of that step that was there
    // before stays, and if the new one has taken its place, that.
    if (is_new) {
      remove_checkpoint(options_.directory, name);
    } else {
      for (std::string& shard : names_of(listed_shards(file))) needed.push_back(std::move(shard));
      remove_shards(options_.directory, name, needed);
    }
    throw;
  }
  enter(SaveStage::prune);
  prune();
  return file;
}

// The index names what is to be removed before it is, and forgets it afterwards: a crash in between leaves no file that
// is forgotten, and a file that somebody puts there later is safe.
void CheckpointWriter::prune() {
  const std::size_t removed =
      std::erase_if(removing_, [&](const std::string& name) { return remove_checkpoint(options_.directory, name); });
  if (removed == 0) return;
  try {
    write_checkpoint_index(path_in(options_.directory, options_.index), {.kept = kept_, .removing = removing_});
  } catch (const FileError& e) {
    log_warning(fmt::format("[Saver] the index still names checkpoints that were removed: {}", e.what()));
  }
}

std::string CheckpointWriter::room_problem(std::uint64_t bytes) const {
  struct statvfs disk{};
  if (::statvfs(options_.directory.c_str(), &disk) != 0) return "";  // unknown
  const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  const double more = std::max(1., options_.keep + 1. - static_cast<double>(kept_.size()));
  if (free >= more * static_cast<double>(bytes)) return "";
  constexpr double kMega = 1e6;
  return fmt::format(
      "[Saver] expected room for {} checkpoints of {:.1f} MB each ({:.1f} MB: .keep is {}, and a new one is written "
      "before the oldest is removed), got {:.1f} MB free in '{}'. Free some space, keep fewer, or choose another "
      "directory.",
      more, static_cast<double>(bytes) / kMega, more * static_cast<double>(bytes) / kMega, options_.keep, free / kMega,
      options_.directory);
}

std::vector<std::string> CheckpointWriter::kept() const {
  std::vector<std::string> out;
  for (const std::string& name : kept_) out.push_back(checkpoint_file(path_in(options_.directory, name)));
  return out;
}

}  // namespace belfry
