#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/descriptor.h"

namespace belfry {
namespace {

constexpr std::size_t kBuffer = 64 * 1024;  // small writes gather here
constexpr std::uint64_t kAhead = 64 << 20;  // so much is on its way to the disk while more is written
constexpr std::string_view kUntouched = "What was at this path before is unchanged.";

}  // namespace

// Names are resolved against the directory as it was opened, so a later chdir() changes nothing.
struct AtomicFile::State {
  std::string path;
  std::string name;       // of the final file, within the directory
  std::string temporary;  // likewise; empty when there is none to remove
  Descriptor directory;
  Descriptor file;  // open exactly while more may be written
  std::vector<std::byte> buffer;
  std::uint64_t written = 0;
  std::uint64_t out = 0, started = 0;  // bytes given to the system, and those that it was asked to write to the disk

  explicit State(const std::string& wanted) : path(wanted) {
    const std::size_t slash = path.rfind('/');
    name = slash == std::string::npos ? path : path.substr(slash + 1);
    BELFRY_CHECK_AS(FileError, !name.empty() && name != "." && name != "..",
                    "[file] expected the path of a file, got '{}'. Add a file name.", path);
    directory = open_for_reading(slash == std::string::npos ? "." : path.substr(0, slash + 1), O_DIRECTORY);
    create_temporary();
    buffer.reserve(kBuffer);
  }

  ~State() { discard(); }

  // O_EXCL finds a free number: other writers of this path, and leftovers of a killed process, keep theirs.
  void create_temporary() {
    for (int n = 0; !file.is_open(); ++n) {
      temporary = fmt::format("{}.tmp-{}-{}", name, ::getpid(), n);
      file = Descriptor(::openat(directory.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (file.is_open() || errno == EEXIST || errno == EINTR) continue;
      const int reason = errno;
      temporary.clear();
      fail_system("create a temporary file for", path, reason, kUntouched);
    }
  }

  void discard() {
    file.close();
    if (!temporary.empty()) ::unlinkat(directory.get(), temporary.c_str(), 0);
    temporary.clear();
  }

  [[noreturn]] void abandon(std::string_view attempt, int reason) {
    discard();
    fail_system(attempt, path, reason, kUntouched);
  }

  void check_open() const {
    BELFRY_CHECK_AS(FileError, file.is_open(),
                    "[file] expected a file that is still being written, got '{}' after its commit or an error. "
                    "Make another AtomicFile.",
                    path);
  }

  void write_out(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t done = ::write(file.get(), bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) abandon("write", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
      out += static_cast<std::uint64_t>(done);
    }
    if (out - started >= kAhead) start_writing();
  }

  // Otherwise the disk would be idle until the sync at the end. Only a wish: errors are for that sync to find.
  void start_writing() {
    ::sync_file_range(file.get(), static_cast<off_t>(started), static_cast<off_t>(out - started),
                      SYNC_FILE_RANGE_WRITE);
    started = out;
  }

  void write_out_at(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t done = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) abandon("write", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
      offset += static_cast<std::uint64_t>(done);
    }
  }

  void flush() {
    write_out(buffer);
    buffer.clear();
  }
};

AtomicFile::AtomicFile(const std::string& path) : state_(std::make_unique<State>(path)) {}
AtomicFile::~AtomicFile() = default;

std::string AtomicFile::temporary_path() const {
  state_->check_open();
  return state_->path.substr(0, state_->path.size() - state_->name.size()) + state_->temporary;
}

std::uint64_t AtomicFile::size() const { return state_->written; }

void AtomicFile::write(std::span<const std::byte> bytes) {
  State& s = *state_;
  s.check_open();
  if (s.buffer.size() + bytes.size() > kBuffer) s.flush();
  if (bytes.size() > kBuffer) {
    s.write_out(bytes);
  } else {
    s.buffer.insert(s.buffer.end(), bytes.begin(), bytes.end());
  }
  s.written += bytes.size();
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void AtomicFile::overwrite(std::uint64_t offset, std::string_view text) {
  State& s = *state_;
  s.check_open();
  BELFRY_BUG_IF(offset + text.size() > s.written, "bytes to be replaced that were not written");
  s.flush();
  s.write_out_at(offset, std::as_bytes(std::span(text.data(), text.size())));
}

void AtomicFile::commit() {
  State& s = *state_;
  s.check_open();
  s.flush();
  if (::fsync(s.file.get()) != 0) s.abandon("sync", errno);
  if (const int reason = s.file.close()) s.abandon("close", reason);
  if (::renameat(s.directory.get(), s.temporary.c_str(), s.directory.get(), s.name.c_str()) != 0)
    s.abandon("rename the finished temporary file to", errno);
  s.temporary.clear();
  // EINVAL: a file system that cannot sync directories; there is nothing more to ask of it.
  if (::fsync(s.directory.get()) != 0 && errno != EINVAL)
    fail_system("sync the directory of", s.path, errno,
                "The new file is in place but may not survive a power failure.");
}

}  // namespace belfry
