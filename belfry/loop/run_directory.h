// RunDirectory: a directory that one run writes to, and no other at the same time.
//
//   RunDirectory directory("train_log/gan");  // made if it is not there; throws if a run has it already
//
// The claim is a lock on a file in it, run.lock, which says who holds it. The system frees the lock of a process that
// ends, however it ends: what a killed run leaves is no obstacle. Trainer claims what its callbacks write to (see
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
  // Throws FileError, with the process that has it, or if nothing can be written there. On a file system without locks:
  // a warning.
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
  // Claims those that the callbacks name. `continued`: what the run goes on from, checkpoints or their directories.
  RunDirectories(const Callbacks& callbacks, std::vector<std::string> continued);
  ~RunDirectories();

  // Moves what an earlier run left in them aside, unless this one goes on with a run of one of them. To be called when
  // all that is needed of those files has been read, all checks have passed, and nothing has been written yet.
  void keep_previous_run() const;

 private:
  struct Claimed {
    std::unique_ptr<RunDirectory> directory;
    std::vector<std::string> patterns;  // of files in it
  };
  bool continues() const;
  std::vector<Claimed> claimed_;
  std::vector<std::string> continued_;
};

}  // namespace belfry
#pragma GCC visibility pop
