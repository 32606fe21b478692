#include "belfry/loop/run_directory.h"

#include <errno.h>  // program_invocation_name
#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/descriptor.h"
#include "belfry/base/log.h"
#include "belfry/loop/internal/previous_run.h"
#include "belfry/session/internal/checkpoint_index.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

// Returns the path as given if the system reports an error: that shows when the path is used. Made absolute first,
// because weakly_canonical() leaves a relative path relative if nothing is there, as for the name of a checkpoint
// without its extension.
fs::path canonical(const std::string& path) {
  std::error_code error;
  fs::path out = fs::absolute(path, error);
  if (!error) out = fs::weakly_canonical(out, error);
  return error ? fs::path(path) : out;
}

std::string reason_of(int errno_value) { return std::generic_category().message(errno_value); }

[[noreturn]] void fail_to_write(const std::string& path, const std::string& reason) {
  fail<FileError>("[run directory] expected to write to '{}', got: {}. Fix the cause, or choose another run_dir.", path,
                  reason);
}

std::string this_process() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return fmt::format("process {} on {}", ::getpid(), host);
}

std::string claim_text() {
  return fmt::format("{} ({}, since {:%Y-%m-%d %H:%M:%S})", this_process(), program_invocation_name,
                     fmt::localtime(std::time(nullptr)));
}

// What the holder has written; it may not have written anything yet.
std::string holder_in(const std::string& file) try {
  const std::string text = read_file(file);
  return text.empty() ? "another process" : text;
} catch (const FileError&) {
  return "another process";
}

[[noreturn]] void fail_as_busy(const std::string& directory, const std::string& holder) {
  const bool is_own = holder.starts_with(this_process() + " ");
  fail<FileError>("[run directory] expected '{}' to be free, got it in use by {}. Choose another run_dir, or {}.",
                  directory, holder,
                  is_own ? "wait until that training, of this program itself, has ended" : "end that process");
}

// The file that was opened is still the one of that name: its holder may have removed it in the meantime.
bool is_current(const Descriptor& file, const std::string& path) {
  struct stat opened{}, named{};
  return ::fstat(file.get(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

// Whether it is locked; a warning if the file system has no locks.
bool lock_now(const Descriptor& file, const std::string& directory) {
  int result = 0;
  do result = ::flock(file.get(), LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  log_warning(fmt::format(
      "[run directory] expected a file system with locks at '{}', got: {}. A second run there would not be noticed: "
      "give each its own run_dir.",
      directory, reason_of(errno)));
  return true;
}

}  // namespace

struct RunDirectory::Lock {
  std::string path;
  Descriptor file;
  pid_t owner = ::getpid();

  explicit Lock(const std::string& directory) : path(directory + "/run.lock") {
    do {
      do file = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
      while (!file.is_open() && errno == EINTR);
      if (!file.is_open()) fail_to_write(directory, reason_of(errno));
      if (!lock_now(file, directory)) fail_as_busy(directory, holder_in(path));
    } while (!is_current(file, path));
    const std::string text = claim_text();
    const bool written = ::ftruncate(file.get(), 0) == 0 &&
                         ::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    if (written) return;
    const int error = errno;
    ::unlink(path.c_str());
    fail_to_write(directory, reason_of(error));
  }

  // A child that was forked meanwhile has a copy of this, and must not remove the parent's claim.
  ~Lock() {
    if (::getpid() == owner) ::unlink(path.c_str());
  }
};

RunDirectory::RunDirectory(std::string path) {
  std::error_code error;
  // Absolute: the program may change its working directory.
  path_ = fs::absolute(path, error).lexically_normal().string();
  if (!error) fs::create_directories(path_, error);
  if (error) fail_to_write(path, error.message());
  lock_ = std::make_unique<Lock>(path_);
}

RunDirectory::~RunDirectory() = default;

RunDirectories::RunDirectories(const Callbacks& callbacks, std::vector<std::string> continued)
    : continued_(std::move(continued)) {
  for (const Handle<Callback>& callback : callbacks) {
    for (const Written& written : callback->writes()) {
      const fs::path wanted = canonical(written.directory);
      auto at =
          std::ranges::find_if(claimed_, [&](const Claimed& c) { return canonical(c.directory->path()) == wanted; });
      if (at == claimed_.end())
        at = claimed_.insert(claimed_.end(), {std::make_unique<RunDirectory>(written.directory), {}});
      at->patterns.insert(at->patterns.end(), written.patterns.begin(), written.patterns.end());
    }
  }
}

RunDirectories::~RunDirectories() = default;

std::string RunDirectories::main(const std::string& wanted) const {
  for (const Claimed& claimed : claimed_)
    if (canonical(claimed.directory->path()) == canonical(wanted)) return claimed.directory->path();
  return claimed_.empty() ? "" : claimed_[0].directory->path();
}

bool RunDirectories::continues() const {
  return std::ranges::any_of(continued_, [&](const std::string& path) {
    const fs::path file = canonical(path);
    const fs::path from = is_directory(path) ? file : file.parent_path();
    return std::ranges::any_of(claimed_, [&](const Claimed& c) { return canonical(c.directory->path()) == from; });
  });
}

void RunDirectories::keep_previous_run() const {
  if (continues()) return;
  for (const Claimed& claimed : claimed_) {
    const std::string& path = claimed.directory->path();
    if (const std::string moved = move_previous_run(path, claimed.patterns); !moved.empty())
      log_info(fmt::format("'{}' held the files of an earlier run: now they are in '{}'.", path, moved));
  }
}

}  // namespace belfry
