#include "belfry/base/internal/file_lock.h"

#include <gtest/gtest.h>
#include <sys/file.h>

#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;
using testing_support::TempDir;

TEST(FileLock, IsHeldUntilItsEnd) {
  const TempDir dir;
  const auto is_free = [&] { return ::flock(open_for_reading(dir / "x.lock").get(), LOCK_EX | LOCK_NB) == 0; };
  {
    const FileLock lock(dir / "x.lock");
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
  const FileLock again(dir / "x.lock");
  EXPECT_FALSE(is_free());
}

TEST(FileLock, SaysWhatCannotBeLocked) {
  const TempDir dir;
  EXPECT_EQ(file_error_of([&] { const FileLock lock(dir / "none/x.lock"); }),
            "[file] expected to open the lock '" + dir / "none/x.lock" +
                "', got: No such file or directory. Check that the directory and the file exist.");
}

}  // namespace
}  // namespace belfry
