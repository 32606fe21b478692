#include "belfry/base/internal/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace belfry {

FileLock::FileLock(const std::string& path) {
  do file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  while (!file_.is_open() && errno == EINTR);
  if (!file_.is_open()) fail_system("open the lock", path, errno);
  int result = 0;
  do result = ::flock(file_.get(), LOCK_EX);
  while (result != 0 && errno == EINTR);
  if (result != 0) fail_system("lock", path, errno);
}

}  // namespace belfry
