// Run directories as the library leaves them, for the tests of what reads them.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/files.h"

namespace belfry::tools {

inline std::string put_run(const std::string& directory, const std::string& file, const std::string& text) {
  std::filesystem::create_directories(directory);
  testing_support::put_bytes(directory + "/" + file, text);
  return directory;
}

inline std::string this_host() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return host;
}

// A run.json of one run; `fields` are added to what every one has.
inline std::string run_json(const std::string& fields) {
  return R"({"format": 1, "later": {"x": [1]}, "runs": [{"program": "net", "command": ["./net", "--name", "a b"],
             "directory": "/where it/ran", "versions": {"belfry": "0.1.0"}, "devices": ["cpu:0 [2 threads]"],
             "seed": 1, "began": "2026-11-19T04:10:00Z", "unknown": null, )" +
         fields + "}]}";
}

}  // namespace belfry::tools
