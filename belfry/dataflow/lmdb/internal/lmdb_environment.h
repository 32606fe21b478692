// LMDB's C interface, with owners and errors. For sources of this folder only.
#pragma once

#include <lmdb.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace belfry {

// Throws FileError "[<who>] expected to <attempt> '<path>', got: <LMDB's reason>." unless the code is a success.
void check_lmdb(int code, std::string_view who, std::string_view attempt, const std::string& path);

inline MDB_val to_lmdb(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }
inline std::span<const std::byte> from_lmdb_value(const MDB_val& value) {
  return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

struct LmdbCloser {
  void operator()(MDB_env* environment) const { mdb_env_close(environment); }
  void operator()(MDB_txn* transaction) const { mdb_txn_abort(transaction); }
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};
using LmdbEnvironment = std::unique_ptr<MDB_env, LmdbCloser>;
using LmdbTransaction = std::unique_ptr<MDB_txn, LmdbCloser>;
using LmdbCursor = std::unique_ptr<MDB_cursor, LmdbCloser>;

LmdbTransaction begin_lmdb(MDB_env& environment, unsigned flags, std::string_view who, const std::string& path);

// A database that is only read. Const members from several threads at once: each uses a transaction of its own.
class LmdbReader {
 public:
  LmdbReader(std::string path, std::string who);

  const std::string& path() const { return path_; }
  std::size_t entries() const { return entries_; }
  LmdbTransaction begin() const { return begin_lmdb(*environment_, MDB_RDONLY, who_, path_); }
  // Nothing if there is no such key. The bytes are the map's, valid as long as the transaction.
  std::optional<std::span<const std::byte>> get(MDB_txn& transaction, std::string_view key) const;
  LmdbCursor cursor(MDB_txn& transaction) const;
  void check(int code, std::string_view attempt) const { check_lmdb(code, who_, attempt, path_); }

 private:
  void check_complete(const std::string& file) const;

  std::string path_, who_;
  LmdbEnvironment environment_;
  MDB_dbi database_ = 0;
  std::size_t entries_ = 0;
};

}  // namespace belfry
