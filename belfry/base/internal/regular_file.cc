#include "belfry/base/internal/regular_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "belfry/base/check.h"

namespace belfry {

// O_NONBLOCK: opening a pipe must not wait for its writer before we can say that it is not a regular file.
RegularFile::RegularFile(const std::string& path)
    : path_(path), file_(open_for_reading(path, O_NONBLOCK)), size_(size_of_regular(file_, path)) {}

void RegularFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_system("read", path_, errno);
    BELFRY_CHECK_AS(FileError, got > 0,
                    "[file] expected '{}' to keep its {} bytes while it is read, got its end at {}.", path_, size_,
                    offset);
    offset += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
}

void RegularFile::fetch(std::uint64_t offset, std::uint64_t bytes) const {
  // Only advice: that it is not taken is no failure.
  ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

}  // namespace belfry
