#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/descriptor.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/lmdb/internal/lmdb_environment.h"
#include "belfry/dataflow/lmdb/internal/lmdb_record.h"
#include "belfry/dataflow/lmdb/lmdb_flow.h"

namespace belfry {
namespace {

constexpr std::size_t kFirstMapBytes = std::size_t{64} << 20;     // doubled when it is full
constexpr std::size_t kTransactionBytes = std::size_t{16} << 20;  // so much is held until it is written
constexpr std::size_t kTransactionRecords = 4096;
constexpr const char* kWho = "write_lmdb";

// Said before the first point is asked for, not when all are written.
void refuse_directory(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) fail_system("write", path, EISDIR);
}

// Records in the order of their keys. They are held and written many at a time: a transaction that finds the map full
// is lost and has to be done again in a larger one.
class DatabaseWriter {
 public:
  explicit DatabaseWriter(const std::string& path) : path_(path) {
    MDB_env* environment = nullptr;
    check(mdb_env_create(&environment), "make an environment for");
    environment_.reset(environment);
    check(mdb_env_set_mapsize(environment, map_bytes_), "make room in");
    // Nobody else knows of this file yet: no locks are needed, and it is enough that all is on the disk at the end.
    const unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NOMEMINIT;
    check(mdb_env_open(environment, path.c_str(), flags, 0666), "create the LMDB database");
  }

  // True if this made it write what was held.
  bool add(std::string key, std::string value) {
    held_bytes_ += key.size() + value.size();
    held_.emplace_back(std::move(key), std::move(value));
    const bool enough = held_bytes_ >= kTransactionBytes || held_.size() >= kTransactionRecords;
    if (enough) write_held();
    return enough;
  }

  void finish() {
    write_held();
    check(mdb_env_sync(environment_.get(), 1), "sync");
    environment_.reset();
  }

 private:
  void check(int code, std::string_view attempt) const { check_lmdb(code, kWho, attempt, path_); }

  void write_held() {
    int code = try_write();
    for (; code == MDB_MAP_FULL; code = try_write()) {
      map_bytes_ *= 2;
      check(mdb_env_set_mapsize(environment_.get(), map_bytes_), "make room in");
    }
    check(code, "write to");
    held_.clear();
    held_bytes_ = 0;
  }

  int try_write() {
    LmdbTransaction transaction = begin_lmdb(*environment_, 0, kWho, path_);
    MDB_dbi database = 0;
    check(mdb_dbi_open(transaction.get(), nullptr, 0, &database), "open the main table of");
    for (const auto& [name, bytes] : held_) {
      MDB_val key = to_lmdb(name), value = to_lmdb(bytes);
      if (const int code = mdb_put(transaction.get(), database, &key, &value, MDB_APPEND)) return code;
    }
    return mdb_txn_commit(transaction.release());
  }

  std::string path_;
  LmdbEnvironment environment_;
  std::size_t map_bytes_ = kFirstMapBytes;
  std::vector<std::pair<std::string, std::string>> held_;
  std::size_t held_bytes_ = 0;
};

}  // namespace

std::int64_t write_lmdb(Flow flow, const std::string& path, const WriteLmdbOptions& options) {
  check_ends(*flow, kWho);
  flow.reset_state();
  const std::optional<std::int64_t> size = flow.size();
  refuse_directory(path);
  AtomicFile file(path);
  DatabaseWriter writer(file.temporary_path());
  std::int64_t count = 0;
  while (const std::optional<DataPoint> point = flow.next()) {
    BELFRY_CHECK(count < kMaxLmdbPoints, "[write_lmdb] expected at most {} points, got more. Does '{}' end?",
                 kMaxLmdbPoints, flow.describe());
    const bool wrote = writer.add(lmdb_key(count++), encode_lmdb_record(*point));
    if (wrote && options.progress) options.progress(count, size);
  }
  writer.add(std::string(kLmdbMetaKey), encode_lmdb_meta(count));
  writer.finish();
  file.commit();
  if (options.progress) options.progress(count, size);
  return count;
}

}  // namespace belfry
