// RunDirectory: a directory that one run writes to, and no other at the same time.
//
//   RunDirectory directory("train_log/gan");  // created if it does not exist; throws if a run has it already
//
// The claim is a lock on a file in it, run.lock, which says who holds it. The system frees the lock when the process
// ends, however it ends: a killed run does not block the directory. Trainer claims what its callbacks write to (see
// Callback::writes()).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

class RunDirectory {
 public:
  // Throws FileError if another process has it, naming that, or if nothing can be written there. On a file system
  // without locks, it only logs a warning.
  explicit RunDirectory(std::string path);
  // Frees it, and removes run.lock.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  struct Lock;
  std::string path_;
  std::unique_ptr<Lock> lock_;
};

// All directories that a training writes to.
class RunDirectories {
 public:
  // Claims those that the callbacks name. `continued`: what the run continues, checkpoints or their directories.
  RunDirectories(const Callbacks& callbacks, std::vector<std::string> continued);
  ~RunDirectories();

  // Where the run's own files go: `wanted` if it is among them, else the first; "" if there is none.
  std::string main(const std::string& wanted) const;

  // Moves what an earlier run left in them aside, unless this one continues a run in one of them. To be called when all
  // that is needed from those files has been read, all checks have passed, and nothing has been written yet.
  void keep_previous_run() const;

 private:
  struct Claimed {
    std::unique_ptr<RunDirectory> directory;
    std::vector<std::string> patterns;  // for the names of files in it
  };
  bool continues() const;
  std::vector<Claimed> claimed_;
  std::vector<std::string> continued_;
};

}  // namespace belfry
#pragma GCC visibility pop
