// The file-system calls of this process, watched on their way into the C library: recorded, or made to fail. The
// program defines open(), write() and the others itself (file_calls.cc), so that the library under test calls those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belfry::torture {

enum class Kind : std::uint8_t { open, write, sync, sync_directory, close, rename, unlink, mkdir };

struct FileCall {
  Kind kind = Kind::open;
  std::string path{};       // absolute
  std::string to{};         // of a rename
  std::string_view data{};  // of a write: what was written, or is to be
  std::uint64_t offset = 0;
  bool creates = false;  // an open
};

std::string name_of(Kind kind);

// While it lives, it sees the calls below a directory, except those that only read. One at a time, and one thread.
class FileWatch {
 public:
  explicit FileWatch(std::string root);
  virtual ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  struct Verdict {
    int error = 0;                // fails so, without being made
    std::size_t most = SIZE_MAX;  // a write writes no more
  };
  virtual Verdict before(const FileCall&) { return {}; }
  virtual void after(const FileCall&) {}  // it was made, and succeeded

  bool sees(std::string_view path) const { return path.starts_with(root_); }

 private:
  std::string root_;
};

}  // namespace belfry::torture
