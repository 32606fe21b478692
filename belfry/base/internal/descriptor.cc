#include "belfry/base/internal/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "belfry/base/check.h"

namespace belfry {
namespace {

std::string_view remedy_for(int errno_value) {
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return " Free some space or choose another place.";
    case EACCES:
    case EPERM:
    case EROFS: return " Check the permissions.";
    case ENOENT:
    case ENOTDIR: return " Check that the directory and the file exist.";
    case EISDIR: return " Name a file, not a directory.";
    default: return "";
  }
}

}  // namespace

// Linux closes the descriptor even when close() is interrupted, so EINTR is no failure and there is no second try.
int Descriptor::close() {
  if (fd_ < 0) return 0;
  const int result = ::close(std::exchange(fd_, -1));
  return result == 0 || errno == EINTR ? 0 : errno;
}

void fail_system(std::string_view attempt, const std::string& path, int errno_value, std::string_view aftermath) {
  fail<FileError>("[file] expected to {} '{}', got: {}.{}{}{}", attempt, path,
                  std::generic_category().message(errno_value), remedy_for(errno_value), aftermath.empty() ? "" : " ",
                  aftermath);
}

Descriptor open_for_reading(const std::string& path, int extra_flags) {
  int fd = -1;
  do fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | extra_flags);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) fail_system("open", path, errno);
  return Descriptor(fd);
}

}  // namespace belfry
