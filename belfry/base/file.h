// Files: whole reads, mappings, and writes that happen entirely or not at all. Whatever the system refuses becomes a
// FileError that names the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace belfry {

std::string read_file(const std::string& path);

// A whole regular file in memory, paged in as it is touched. The bytes stay valid when the name is replaced by
// another file (as AtomicFile does); a process that shortens the file in place takes them away (SIGBUS).
class MappedFile {
 public:
  enum class Access : std::uint8_t {
    read_only,
    copy_on_write,  // the bytes may be changed in memory; the file never is
  };

  explicit MappedFile(const std::string& path, Access access = Access::read_only);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }
  std::span<std::byte> writable_bytes();  // throws unless copy_on_write

 private:
  void* data_ = nullptr;  // null for an empty file
  std::size_t size_ = 0;
  Access access_;
};

// Writes `path` so that a reader, at any moment and after any crash, finds the old file or the whole new one.
//
//   AtomicFile file(path);
//   file.write(header);
//   file.write(data);
//   file.commit();
//
// Bytes go to `<path>.tmp-<pid>-<n>` beside it; commit() writes them out, syncs the file, renames it over `path` and
// syncs the directory. Without a commit, or after any error, the temporary is removed and `path` is as it was; only a
// killed process leaves a temporary behind. A symbolic link at `path` is replaced, not followed. The directory must
// exist. One thread at a time; several AtomicFiles for one path may be open, and the last commit wins.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Replaces bytes that were written before: what is known only at the end, such as a checksum.
  void overwrite(std::uint64_t offset, std::string_view text);
  void commit();

  std::uint64_t size() const;  // bytes written so far, by write()

  // Until the commit: where the bytes go, for libraries that write to a path themselves. They have to be done, and
  // write() not used, when commit() is called.
  std::string temporary_path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

void write_file_atomically(const std::string& path, std::string_view text);

// Returns when the bytes that the file has now, and its name, would survive a power failure.
void sync_file(const std::string& path);

// Makes the directory and those above it that are missing, so that they survive a power failure, too. Nothing happens
// if it is there.
void make_directories(const std::string& path);

}  // namespace belfry
#pragma GCC visibility pop
