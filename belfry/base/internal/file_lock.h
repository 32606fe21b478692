// A lock that processes, and threads, share through a file. For sources.
//
//   const FileLock lock(path + ".lock");  // waits until nobody else holds it
//   ... read, change and write what the file at `path` holds
//
// The lock is on a file beside the data: AtomicFile replaces the data's own. It is made if it is not there, holds
// nothing and stays. The system frees the lock of a process that ends, however it ends; a signal does not end the wait.
#pragma once

#include <string>

#include "belfry/base/internal/descriptor.h"

#pragma GCC visibility push(default)
namespace belfry {

class FileLock {
 public:
  explicit FileLock(const std::string& path);  // throws FileError

 private:
  Descriptor file_;  // closing it frees the lock
};

}  // namespace belfry
#pragma GCC visibility pop
