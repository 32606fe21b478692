// A directory for one run of a program or test, removed at its end. Not part of the library.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "belfry/base/error.h"

namespace belfry::tools {

class ScratchDirectory {
 public:
  ScratchDirectory() : path_((std::filesystem::temp_directory_path() / "belfry-scratch-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      throw FileError("[scratch] expected to make a temporary directory like '" + path_ + "', but could not.");
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace belfry::tools
