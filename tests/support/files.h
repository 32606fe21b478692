// What tests of files share: a directory that removes itself, a full disk, raw bytes, the text of an expected error.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "belfry/base/error.h"
#include "tests/support/errors.h"
#include "tools/scratch_directory.h"

namespace belfry::testing_support {

// A directory that is gone at the end of its scope. Not in the fixture of a death test: the process that dies leaves
// its own behind.
class TempDir : public tools::ScratchDirectory {
 public:
  std::string operator/(std::string_view name) const { return path() + "/" + std::string(name); }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path()))
      out.push_back(entry.path().filename().string());
    return out;
  }
};

// While it lives, no file of this process can grow past the limit: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t limit) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now{limit, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

// Writes plainly, without any of the library's care. (Some file systems flush to the disk when a file is truncated and
// rewritten; a new one is cheap.)
inline void put_bytes(const std::string& path, std::string_view bytes) {
  std::filesystem::remove(path);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// The text of the FileError that `action` throws; a test failure if it throws none or another kind.
template <class Action>
std::string file_error_of(Action&& action) {
  try {
    action();
  } catch (const FileError& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "expected a FileError, got " << typeid(e).name() << ": " << e.what();
    return "";
  }
  ADD_FAILURE() << "expected a FileError, got none";
  return "";
}

}  // namespace belfry::testing_support
