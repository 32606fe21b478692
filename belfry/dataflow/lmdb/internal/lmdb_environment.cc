#include "belfry/dataflow/lmdb/internal/lmdb_environment.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "belfry/base/check.h"

namespace belfry {
namespace {

std::uint64_t regular_file_bytes(const std::string& file, std::string_view who) {
  struct stat facts{};
  if (::stat(file.c_str(), &facts) != 0) fail<FileError>("[{}] cannot open '{}': {}.", who, file, std::strerror(errno));
  BELFRY_CHECK_AS(FileError, S_ISREG(facts.st_mode), "[{}] expected a regular file, got '{}', which is not one.", who,
                  file);
  return static_cast<std::uint64_t>(facts.st_size);
}

bool is_directory(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

}  // namespace

void check_lmdb(int code, std::string_view who, std::string_view attempt, const std::string& path) {
  BELFRY_CHECK_AS(FileError, code == MDB_SUCCESS, "[{}] expected to {} '{}', got: {}.", who, attempt, path,
                  mdb_strerror(code));
}

LmdbTransaction begin_lmdb(MDB_env& environment, unsigned flags, std::string_view who, const std::string& path) {
  MDB_txn* transaction = nullptr;
  check_lmdb(mdb_txn_begin(&environment, nullptr, flags, &transaction), who, "begin a transaction of", path);
  return LmdbTransaction(transaction);
}

LmdbReader::LmdbReader(std::string path, std::string who) : path_(std::move(path)), who_(std::move(who)) {
  const bool directory = is_directory(path_);
  const std::string file = directory ? path_ + "/data.mdb" : path_;
  BELFRY_CHECK_AS(FileError, regular_file_bytes(file, who_) > 0,
                  "[{}] expected an LMDB database, got '{}', which is "
                  "empty.",
                  who_, file);
  MDB_env* environment = nullptr;
  check(mdb_env_create(&environment), "make an environment for");
  environment_.reset(environment);
  // NOLOCK: see lmdb_flow.h. NOTLS: a transaction belongs to its owner, not to a thread.
  const unsigned flags = MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS | (directory ? 0 : MDB_NOSUBDIR);
  const int code = mdb_env_open(environment, path_.c_str(), flags, 0644);
  BELFRY_CHECK_AS(FileError, code != MDB_INVALID && code != MDB_VERSION_MISMATCH,
                  "[{}] expected an LMDB database, got something else in '{}' ({}).", who_, file, mdb_strerror(code));
  check(code, "open the LMDB database");
  check_complete(file);
  const LmdbTransaction transaction = begin();
  check(mdb_dbi_open(transaction.get(), nullptr, 0, &database_), "open the main table of");
  MDB_stat facts{};
  check(mdb_stat(transaction.get(), database_, &facts), "examine");
  entries_ = facts.ms_entries;
  unsigned table_flags = 0;
  check(mdb_dbi_flags(transaction.get(), database_, &table_flags), "examine");
  BELFRY_CHECK_AS(FileError, (table_flags & MDB_DUPSORT) == 0,
                  "[{}] expected one value for each key, got a database with several (MDB_DUPSORT) in '{}'. That is "
                  "not supported.",
                  who_, path_);
}

// Reading a page past the end of the file would kill the process.
void LmdbReader::check_complete(const std::string& file) const {
  MDB_envinfo info{};
  MDB_stat facts{};
  check(mdb_env_info(environment_.get(), &info), "examine");
  check(mdb_env_stat(environment_.get(), &facts), "examine");
  const std::uint64_t needed = (info.me_last_pgno + 1) * facts.ms_psize, got = regular_file_bytes(file, who_);
  BELFRY_CHECK_AS(FileError, got >= needed,
                  "[{}] expected {} bytes of LMDB pages, got only {} in '{}'. The file is truncated. Fetch or write it "
                  "again; if the program that wrote it can still read it, mdb_copy -c makes a whole one.",
                  who_, needed, got, file);
}

std::optional<std::span<const std::byte>> LmdbReader::get(MDB_txn& transaction, std::string_view key) const {
  MDB_val name = to_lmdb(key), value{};
  const int code = mdb_get(&transaction, database_, &name, &value);
  if (code == MDB_NOTFOUND) return std::nullopt;
  check(code, fmt::format("read key '{}' of", key));
  return from_lmdb_value(value);
}

LmdbCursor LmdbReader::cursor(MDB_txn& transaction) const {
  MDB_cursor* cursor = nullptr;
  check(mdb_cursor_open(&transaction, database_, &cursor), "walk through");
  return LmdbCursor(cursor);
}

}  // namespace belfry
