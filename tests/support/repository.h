// Files of the repository that tests read.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace belfry::testing_support {

// Test programs lie in the clone's folder build, wherever they are started from.
inline std::string repository_file(const std::string& path) {
  for (std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe"); folder != folder.root_path();) {
    folder = folder.parent_path();
    if (std::filesystem::exists(folder / path)) return folder / path;
  }
  ADD_FAILURE() << "no file " << path << " above the test program";
  return path;
}

}  // namespace belfry::testing_support
