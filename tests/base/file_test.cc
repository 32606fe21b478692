#include "belfry/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "belfry/base/error.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;
using testing_support::FullDisk;
using testing_support::put_bytes;
using testing_support::TempDir;
using Names = std::vector<std::string>;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(ReadFile, GivesEveryByte) {
  TempDir dir;
  const std::string bytes("a\0b\r\n\xff", 6);
  put_bytes(dir / "x", bytes);
  put_bytes(dir / "empty", "");
  EXPECT_EQ(read_file(dir / "x"), bytes);
  EXPECT_EQ(read_file(dir / "empty"), "");
}

TEST(ReadFile, ReadsFilesThatDeclareNoSize) { EXPECT_TRUE(contains(read_file("/proc/self/status"), "Pid:")); }

TEST(ReadFile, SaysWhatIsMissing) {
  TempDir dir;
  EXPECT_EQ(file_error_of([&] { read_file(dir / "none"); }),
            "[file] expected to open '" + dir / "none" +
                "', got: No such file or directory. Check that the directory and the file exist.");
  EXPECT_EQ(file_error_of([&] { read_file(dir.path()); }),
            "[file] expected to read '" + dir.path() + "', got: Is a directory. Name a file, not a directory.");
}

TEST(MappedFile, ShowsTheBytesEvenAfterTheNameIsReplaced) {
  TempDir dir;
  put_bytes(dir / "x", "old bytes");
  MappedFile file(dir / "x");
  write_file_atomically(dir / "x", "new");
  EXPECT_EQ(text_of(file.bytes()), "old bytes");
  EXPECT_EQ(text_of(MappedFile(dir / "x").bytes()), "new");
}

TEST(MappedFile, CopyOnWriteNeverReachesTheFile) {
  TempDir dir;
  put_bytes(dir / "x", "abc");
  MappedFile file(dir / "x", MappedFile::Access::copy_on_write);
  file.writable_bytes()[0] = std::byte{'z'};
  EXPECT_EQ(text_of(file.bytes()), "zbc");
  EXPECT_EQ(read_file(dir / "x"), "abc");
  MappedFile fixed(dir / "x");
  EXPECT_THROW(fixed.writable_bytes(), Error);
}

TEST(MappedFile, AnEmptyFileIsAnEmptySpan) {
  TempDir dir;
  put_bytes(dir / "x", "");
  EXPECT_TRUE(MappedFile(dir / "x").bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNotARegularFileWithoutWaiting) {
  TempDir dir;
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(file_error_of([&] { MappedFile file(dir / "pipe"); }),
            "[file] expected a regular file at '" + dir / "pipe" + "', got something else. Name a file.");
  EXPECT_TRUE(contains(file_error_of([&] { MappedFile file(dir.path()); }), "got a directory"));
  EXPECT_TRUE(contains(file_error_of([&] { MappedFile file(dir / "none"); }), "No such file"));
}

TEST(AtomicFile, NothingIsVisibleBeforeTheCommit) {
  TempDir dir;
  put_bytes(dir / "x", "old");
  AtomicFile file(dir / "x");
  file.write("new");
  EXPECT_EQ(read_file(dir / "x"), "old");
  EXPECT_EQ(file.size(), 3u);
  file.commit();
  EXPECT_EQ(read_file(dir / "x"), "new");
  EXPECT_EQ(dir.names(), Names{"x"});
}

TEST(AtomicFile, KeepsTheOrderOfSmallAndLargeWrites) {
  TempDir dir;
  std::string expected;
  AtomicFile file(dir / "x");
  for (std::size_t size : {1, 70'000, 3, 0, 65'535, 2, 65'536, 200'000, 5}) {
    const std::string part(size, static_cast<char>('a' + expected.size() % 26));
    file.write(part);
    expected += part;
  }
  file.commit();
  EXPECT_EQ(read_file(dir / "x"), expected);
}

TEST(AtomicFile, WithoutACommitTheOldFileStaysAndNoTemporaryDoes) {
  TempDir dir;
  put_bytes(dir / "x", "old");
  {
    AtomicFile(dir / "x").write("new");
  }
  EXPECT_EQ(read_file(dir / "x"), "old");
  EXPECT_EQ(dir.names(), Names{"x"});
}

TEST(AtomicFile, TheTemporaryIsBesideTheFileAndNamedAfterIt) {
  TempDir dir;
  AtomicFile first(dir / "x"), second(dir / "x");
  Names names = dir.names();
  std::sort(names.begin(), names.end());
  const std::string stem = "x.tmp-" + std::to_string(getpid());
  EXPECT_EQ(names, (Names{stem + "-0", stem + "-1"}));
  second.write("second");
  second.commit();
  first.write("first");
  first.commit();
  EXPECT_EQ(read_file(dir / "x"), "first");
}

TEST(AtomicFile, AFullDiskLeavesTheOldFileAndNoTemporary) {
  TempDir dir;
  put_bytes(dir / "x", "old");
  const std::string big(200'000, 'n'), small(20'000, 'n');
  const std::string expected = "[file] expected to write '" + dir / "x" +
                               "', got: File too large. Free some space or choose another place. "
                               "What was at this path before is unchanged.";
  const auto full = [](auto&& action) {
    FullDisk disk(10'000);
    return file_error_of(action);
  };
  AtomicFile at_write(dir / "x");
  EXPECT_EQ(full([&] { at_write.write(big); }), expected);
  EXPECT_EQ(dir.names(), Names{"x"}) << "the space must come back at once, not when the writer is destroyed";
  EXPECT_TRUE(contains(file_error_of([&] { at_write.commit(); }), "after its commit or an error"));

  AtomicFile at_commit(dir / "x");
  at_commit.write(small);  // fits the buffer: the disk first says no when it is flushed
  EXPECT_EQ(full([&] { at_commit.commit(); }), expected);
  EXPECT_EQ(dir.names(), Names{"x"});
  EXPECT_EQ(read_file(dir / "x"), "old");
  EXPECT_NO_THROW(write_file_atomically(dir / "x", big)) << "once there is space, writing works again";
}

TEST(AtomicFile, AKilledWriterLeavesTheOldFile) {
  TempDir dir;
  put_bytes(dir / "x", "old");
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile file(dir / "x");
    file.write(std::string(100'000, 'n'));
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_file(dir / "x"), "old");
}

TEST(AtomicFile, AMissingDirectoryOrANamelessPathIsSaidAtOnce) {
  TempDir dir;
  EXPECT_EQ(file_error_of([&] { AtomicFile file(dir / "no/x"); }),
            "[file] expected to open '" + dir / "no/" +
                "', got: No such file or directory. Check that the directory and the file exist.");
  EXPECT_EQ(file_error_of([&] { AtomicFile file(dir / ""); }),
            "[file] expected the path of a file, got '" + dir / "" + "'. Add a file name.");
  EXPECT_TRUE(contains(file_error_of([&] { AtomicFile file(""); }), "Add a file name."));
  EXPECT_TRUE(contains(file_error_of([&] { AtomicFile file(dir / std::string(255, 'n')); }), "File name too long"));
  EXPECT_TRUE(dir.names().empty());
}

TEST(AtomicFile, ARenameThatFailsRemovesTheTemporary) {
  TempDir dir;
  ASSERT_EQ(mkdir((dir / "x").c_str(), 0700), 0);
  AtomicFile file(dir / "x");
  EXPECT_EQ(file_error_of([&] { file.commit(); }),
            "[file] expected to rename the finished temporary file to '" + dir / "x" +
                "', got: Is a directory. Name a file, not a directory. What was at this path before is unchanged.");
  EXPECT_EQ(dir.names(), Names{"x"});
}

TEST(AtomicFile, AnotherMayWriteToItsTemporary) {
  TempDir dir;
  put_bytes(dir / "x", "old");
  {
    AtomicFile file(dir / "x");
    put_bytes(file.temporary_path(), "dropped");
  }
  EXPECT_EQ(dir.names(), Names{"x"});
  AtomicFile file(dir / "x");
  put_bytes(file.temporary_path(), "new");
  EXPECT_EQ(read_file(dir / "x"), "old");
  file.commit();
  EXPECT_EQ(read_file(dir / "x"), "new");
  EXPECT_THROW(file.temporary_path(), FileError);
}

TEST(AtomicFile, AfterTheCommitItIsDone) {
  TempDir dir;
  AtomicFile file(dir / "x");
  file.commit();
  EXPECT_THROW(file.write("more"), FileError);
  EXPECT_THROW(file.commit(), FileError);
  EXPECT_EQ(read_file(dir / "x"), "");
}

TEST(AtomicFile, BytesWrittenBeforeCanBeReplaced) {
  TempDir dir;
  for (const std::size_t size : {10u, 200'000u}) {  // still in the buffer, and out of it
    AtomicFile file(dir / "x");
    file.write(std::string(size, 'a'));
    file.overwrite(3, "XYZ");
    file.write("end");
    file.commit();
    EXPECT_EQ(read_file(dir / "x"), "aaaXYZ" + std::string(size - 6, 'a') + "end");
  }
}

TEST(Directories, MissingOnesAreMadeWithThoseAboveThem) {
  TempDir dir;
  make_directories(dir / "a/b//c/");
  EXPECT_TRUE(std::filesystem::is_directory(dir / "a/b/c"));
  EXPECT_NO_THROW(make_directories(dir / "a/b/c"));
  put_bytes(dir / "a/file", "");
  EXPECT_EQ(file_error_of([&] { make_directories(dir / "a/file/x/y"); }),
            "[file] expected to make the directory '" + dir / "a/file/x/y" +
                "', got: Not a directory. Check that the directory and the file exist.");
}

TEST(Sync, AFileThatIsNotThereIsAnError) {
  TempDir dir;
  put_bytes(dir / "x", "text");
  EXPECT_NO_THROW(sync_file(dir / "x"));
  EXPECT_EQ(file_error_of([&] { sync_file(dir / "none"); }),
            "[file] expected to open '" + dir / "none" +
                "', got: No such file or directory. Check that the directory and the file exist.");
}

}  // namespace
}  // namespace belfry
