#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/base/descriptor.h"
#include "belfry/dataflow/lmdb/internal/lmdb_environment.h"
#include "belfry/dataflow/lmdb/internal/lmdb_record.h"
#include "belfry/dataflow/lmdb/lmdb_flow.h"

namespace belfry {
namespace {

constexpr std::size_t kFirstMapBytes = std::size_t{64} << 20;     // doubled when it is full
constexpr std::size_t kTransactionBytes = std::size_t{16} << 20;  // so much is held until it is written
constexpr std::size_t kTransactionRecords = 4096;
constexpr const char* kWho = "write_lmdb";

// The file of a database that is not complete: removed unless it was given its final name.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& path) : path_(path) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) fail_system("write", path, EISDIR);
    for (int n = 0;; ++n) {
      temporary_ = fmt::format("{}.tmp-{}-{}", path, ::getpid(), n);
      const Descriptor file(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (file.is_open()) return;
      if (errno != EEXIST && errno != EINTR) fail_system("create a temporary file for", path, errno);
    }
  }
  ~UnfinishedFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  const std::string& temporary() const { return temporary_; }

  void finish() {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
      fail_system("rename the finished database to", path_, errno, "What was at this path before is unchanged.");
    temporary_.clear();
    const std::size_t slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    const Descriptor directory = open_for_reading(folder, O_DIRECTORY);
    // EINVAL: a file system that cannot sync directories; there is nothing more to ask of it.
    if (::fsync(directory.get()) != 0 && errno != EINVAL)
      fail_system("sync the directory of", path_, errno,
                  "The database is in place but may not survive a power failure.");
  }

 private:
  std::string path_, temporary_;
};

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
  flow.reset_state();
  const std::optional<std::int64_t> size = flow.size();
  UnfinishedFile file(path);
  DatabaseWriter writer(file.temporary());
  std::int64_t count = 0;
  while (const std::optional<DataPoint> point = flow.next()) {
    BELFRY_CHECK(count < kMaxLmdbPoints, "[write_lmdb] expected at most {} points, got more. Does '{}' end?",
                 kMaxLmdbPoints, flow.describe());
    const bool wrote = writer.add(lmdb_key(count++), encode_lmdb_record(*point));
    if (wrote && options.progress) options.progress(count, size);
  }
  writer.add(std::string(kLmdbMetaKey), encode_lmdb_meta(count));
  writer.finish();
  file.finish();
  if (options.progress) options.progress(count, size);
  return count;
}

}  // namespace belfry
