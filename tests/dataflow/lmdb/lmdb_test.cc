#include <lmdb.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "belfry/base/file.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/lmdb/internal/lmdb_record.h"
#include "belfry/dataflow/lmdb/lmdb_flow.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/restore_checks.h"
#include "tests/support/files.h"
#include "tests/support/mutations.h"

namespace belfry {
namespace {

using testing_support::FullDisk;
using testing_support::put_bytes;
using testing_support::TempDir;

// A database as any other program would write it.
std::string foreign(const TempDir& dir, const std::vector<std::pair<std::string, std::string>>& records,
                    const std::string& name = "foreign", unsigned environment_flags = MDB_NOSUBDIR,
                    unsigned table_flags = 0) {
  MDB_env* environment = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi table = 0;
  EXPECT_EQ(mdb_env_create(&environment), 0);
  EXPECT_EQ(mdb_env_open(environment, (dir / name).c_str(), environment_flags, 0644), 0);
  EXPECT_EQ(mdb_txn_begin(environment, nullptr, 0, &transaction), 0);
  EXPECT_EQ(mdb_dbi_open(transaction, nullptr, table_flags, &table), 0);
  for (const auto& [k, v] : records) {
    MDB_val key{k.size(), const_cast<char*>(k.data())}, value{v.size(), const_cast<char*>(v.data())};
    EXPECT_EQ(mdb_put(transaction, table, &key, &value, 0), 0);
  }
  EXPECT_EQ(mdb_txn_commit(transaction), 0);
  mdb_env_close(environment);
  return dir / name;
}

std::string written(const TempDir& dir, int points, const std::string& name = "points") {
  EXPECT_EQ(write_lmdb(numbered(points), dir / name), points);
  return dir / name;
}

std::string text_of(const Array& bytes) { return {static_cast<const char*>(bytes.raw()), bytes.bytes()}; }

TEST(Lmdb, GivesBackWhatWasWritten) {
  const TempDir dir;
  const std::string path = written(dir, 100);
  Flow flow = from_lmdb(path);
  EXPECT_EQ(flow.size(), 100);
  EXPECT_EQ(flow.describe(), "lmdb(\"" + path + "\")");
  expect_same(points_left(flow), points_left(numbered(100)));
  EXPECT_EQ(dir.names(), std::vector<std::string>{"points"}) << "no lock file, no temporary";
  EXPECT_EQ(write_lmdb(numbered(0), dir / "empty"), 0);
  EXPECT_EQ(from_lmdb(dir / "empty").size(), 0);
}

TEST(Lmdb, WritesNothingOfAFlowWithoutEnd) {
  const TempDir dir;
  EXPECT_EQ(error_of([&] { write_lmdb(numbered(3) | repeat(), dir / "x"); }),
            "[write_lmdb] expected a flow that ends, got 'list | repeat', which does not. Call repeat() after this "
            "instead, or limit the flow with fixed_size().");
  EXPECT_TRUE(dir.names().empty());
}

TEST(Lmdb, HoldsMoreThanItsFirstMap) {
  const TempDir dir;
  const Array block = Array::full(u8, {8 << 20}, 7);
  std::vector<std::int64_t> progress;
  const WriteLmdbOptions options{.progress = [&](std::int64_t done, std::optional<std::int64_t> size) {
    EXPECT_EQ(size, 20);
    progress.push_back(done);
  }};
  write_lmdb(numbered(20) | map([&](DataPoint point) {
               point.push_back(block);
               return point;
             }),
             dir / "large", options);
  Flow flow = from_lmdb(dir / "large");
  EXPECT_GT(std::filesystem::file_size(dir / "large"), 160u << 20);
  EXPECT_TRUE(equal(flow->random_access()->at(19)[2], block));
  EXPECT_GT(progress.size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(progress));
  EXPECT_EQ(progress.back(), 20);
}

TEST(Lmdb, ShufflesByItsOptionOrAsAStage) {
  const TempDir dir;
  const std::string path = written(dir, 30);
  Flow option = from_lmdb(path, {.shuffle = true, .seed = 4}), stage = from_lmdb(path) | shuffle(4);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) EXPECT_EQ(pass(option, epoch), pass(stage, epoch));
  EXPECT_NE(pass(option, 0), pass(option, 1));
  EXPECT_NE(pass(option, 0), upto(30));
}

TEST(Lmdb, PositionsAreRestoredExactly) {
  const TempDir dir;
  const std::string path = written(dir, 6);
  expect_exact_restore([&] { return from_lmdb(path); });
  expect_exact_restore([&] { return from_lmdb(path, {.shuffle = true}) | batch(2) | prefetch(2); });
  expect_exact_restore([&] { return from_lmdb_bytes(path); });
}

TEST(Lmdb, ManyThreadsReadAtOnce) {
  const TempDir dir;
  Flow flow = from_lmdb(written(dir, 500));
  const RandomAccess& access = *flow->random_access();
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t)
    readers.emplace_back([&access, t] {
      for (int i = 0; i < 500; ++i) {
        const int index = (i * 7 + t * 31) % 500;
        EXPECT_EQ(access.at(index)[0].item(), index);
      }
    });
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(drain(from_lmdb(dir / "points") | map([](DataPoint p) { return p; }, {.threads = 4})), upto(500));
}

TEST(Lmdb, APointOutlivesTheDatabase) {
  const TempDir dir;
  DataPoint point = *from_lmdb(written(dir, 3)).next();
  std::filesystem::remove(dir / "points");
  EXPECT_EQ(point[0].item(), 0);
}

TEST(Lmdb, AFailedWriteLeavesTheOldDatabase) {
  const TempDir dir;
  const std::string path = written(dir, 3);
  Flow failing = numbered(9000) | map([](DataPoint point) {
                   if (point[0].item() == 8000) throw Error("no such luck");
                   return point;
                 });
  EXPECT_THROW(write_lmdb(failing, path), Error);
  EXPECT_EQ(drain(from_lmdb(path)), upto(3));
  {
    const FullDisk full(200'000);
    EXPECT_TRUE(contains(error_of<FileError>([&] { write_lmdb(numbered(9000), path); }), "[write_lmdb] expected to "));
  }
  EXPECT_EQ(drain(from_lmdb(path)), upto(3));
  EXPECT_EQ(dir.names(), std::vector<std::string>{"points"});
}

TEST(Lmdb, AWriteReplacesADatabaseThatIsBeingRead) {
  const TempDir dir;
  Flow old = from_lmdb(written(dir, 3));
  old.next();
  written(dir, 5);
  EXPECT_EQ(drain(old), (std::vector<int>{1, 2}));
  EXPECT_EQ(from_lmdb(dir / "points").size(), 5);
}

TEST(Lmdb, RefusesAPathThatCannotBeWritten) {
  const TempDir dir;
  EXPECT_EQ(error_of<FileError>([&] { write_lmdb(numbered(3), dir.path()); }),
            "[file] expected to write '" + dir.path() + "', got: Is a directory. Name a file, not a directory.");
  EXPECT_TRUE(contains(error_of<FileError>([&] { write_lmdb(numbered(3), dir / "none/x"); }),
                       "[file] expected to open '" + (dir / "none/")));
}

TEST(Lmdb, RefusesWhatIsNoDatabaseOfOurs) {
  const TempDir dir;
  const auto error = [](const std::string& path) { return error_of<FileError>([&] { from_lmdb(path); }); };
  EXPECT_EQ(error("/nowhere/x"), "[from_lmdb] cannot open '/nowhere/x': No such file or directory.");
  EXPECT_EQ(error(dir.path()), "[from_lmdb] cannot open '" + (dir / "data.mdb") + "': No such file or directory.");
  put_bytes(dir / "other", std::string(20'000, 'x'));
  EXPECT_TRUE(error(dir / "other")
                  .starts_with("[from_lmdb] expected an LMDB database, got something else in '" + (dir / "other")));
  put_bytes(dir / "nothing", "");
  EXPECT_EQ(error(dir / "nothing"),
            "[from_lmdb] expected an LMDB database, got '" + (dir / "nothing") + "', which is empty.");
  const std::string path = foreign(dir, {{"a", "b"}});
  EXPECT_EQ(error(path), "[from_lmdb] expected a database of write_lmdb(), with the key 'belfry', got another in '" +
                             path + "'. from_lmdb_bytes() reads any.");
  const std::string later = foreign(dir, {{"belfry", R"({"format":"belfry-lmdb","version":2})"}}, "later");
  EXPECT_EQ(error(later), "[from_lmdb] expected the format belfry-lmdb, version 1, and a count in lmdb '" + later +
                              "', key 'belfry', got '{\"format\":\"belfry-lmdb\",\"version\":2}'. Was the database "
                              "written by another version of Belfry?");
  const std::string fewer = foreign(dir, {{"belfry", encode_lmdb_meta(3)}, {lmdb_key(0), "x"}}, "fewer");
  EXPECT_EQ(error(fewer), "[from_lmdb] expected 3 points and one other record in '" + fewer +
                              "', got 2 records. The database is damaged. Write it again.");
  const std::string several = foreign(dir, {{"a", "b"}, {"a", "c"}}, "several", MDB_NOSUBDIR, MDB_DUPSORT);
  EXPECT_EQ(error(several),
            "[from_lmdb] expected one value for each key, got a database with several (MDB_DUPSORT) in "
            "'" +
                several + "'. That is not supported.");
}

TEST(Lmdb, RefusesATruncatedDatabase) {
  const TempDir dir;
  const std::string path = written(dir, 5000), good = read_file(path);
  for (const std::size_t length : {std::size_t{1}, std::size_t{5000}, good.size() / 2, good.size() - 1}) {
    put_bytes(path, good.substr(0, length));
    EXPECT_NE(error_of<FileError>([&] { from_lmdb(path); }), "no error") << length;
  }
  EXPECT_TRUE(contains(error_of<FileError>([&] { from_lmdb(path); }), "The file is truncated."));
}

TEST(Lmdb, ADamagedRecordNamesItsKey) {
  const TempDir dir;
  const std::string good = encode_lmdb_record({Array(1.5f)});
  std::string bad = good;
  bad[10] ^= 1;
  const std::string path = foreign(
      dir,
      {{"belfry", encode_lmdb_meta(4)}, {lmdb_key(0), good}, {lmdb_key(1), bad}, {lmdb_key(2), "xy"}, {"other", good}});
  Flow flow = from_lmdb(path);
  EXPECT_EQ((*flow.next())[0].item(), 1.5);
  EXPECT_EQ(error_of<FileError>([&] { flow.next(); }),
            "[from_lmdb] expected a datapoint that matches its checksum in lmdb '" + path +
                "', key '0000000001', got another in its 18 bytes. The record is damaged. Write the database again.");
  EXPECT_EQ(error_of<FileError>([&] { flow.next(); }),
            "[from_lmdb] expected a datapoint and its checksum in lmdb '" + path +
                "', key '0000000002', got 2 byte(s). The record is damaged.");
  EXPECT_EQ(error_of<FileError>([&] { flow.next(); }),
            "[from_lmdb] expected a record in lmdb '" + path +
                "', key '0000000003', got none. The database is damaged. Write it again.");
}

TEST(Lmdb, DamagedRecordsAreRefused) {
  const std::string good = encode_lmdb_record(numbered_points(2)[1]);
  testing_support::Mutator mutate(3);
  const auto survived = testing_support::survive(
      3000, [&] { return mutate(good); },
      [&](const std::string& bytes) {
        decode_lmdb_record(std::as_bytes(std::span(bytes)), "a test");
        EXPECT_EQ(bytes, good);
      });
  EXPECT_GT(survived.refused, 2500);
}

TEST(LmdbBytes, ReadsAnyDatabaseInTheOrderOfItsKeys) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "folder");
  for (const std::string& path :
       {foreign(dir, {{"b", "two"}, {"a", ""}, {"c", std::string(9000, 'x')}}),
        foreign(dir, {{"b", "two"}, {"a", ""}, {"c", std::string(9000, 'x')}}, "folder", 0)}) {
    Flow flow = from_lmdb_bytes(path);
    EXPECT_EQ(flow.size(), 3);
    EXPECT_EQ(flow.describe(), "lmdb_bytes(\"" + path + "\")");
    std::string all;
    for (const DataPoint& point : flow) all += text_of(point[0]) + "=" + text_of(point[1]).substr(0, 5) + ";";
    EXPECT_EQ(all, "a=;b=two;c=xxxxx;");
    EXPECT_EQ(flow->random_access()->at(2)[1].bytes(), 9000u);
  }
  EXPECT_EQ(from_lmdb_bytes(foreign(dir, {}, "empty")).size(), 0);
}

}  // namespace
}  // namespace belfry
