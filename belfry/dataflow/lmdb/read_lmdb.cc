#include <cstring>
#include <memory>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/dataflow/indexed_flow.h"
#include "belfry/dataflow/lmdb/internal/lmdb_environment.h"
#include "belfry/dataflow/lmdb/internal/lmdb_record.h"
#include "belfry/dataflow/lmdb/lmdb_flow.h"
#include "belfry/dataflow/shuffle.h"

namespace belfry {
namespace {

Array bytes_array(std::span<const std::byte> bytes) {
  Array out(u8, {static_cast<std::int64_t>(bytes.size())});
  if (!bytes.empty()) std::memcpy(out.raw(), bytes.data(), bytes.size());
  return out;
}

class LmdbFlow final : public IndexedFlow {
 public:
  explicit LmdbFlow(const std::string& path)
      : IndexedFlow(FlowIdentity{.kind = "lmdb", .place = path}), database_(path, "from_lmdb"), count_(read_count()) {}

  std::int64_t count() const override { return count_; }
  std::string describe() const override { return fmt::format("lmdb(\"{}\")", database_.path()); }

  DataPoint at(std::int64_t index) const override {
    BELFRY_BUG_IF(index < 0 || index >= count_, "index {} of {} points", index, count_);
    const std::string key = lmdb_key(index), where = place(key);
    const LmdbTransaction transaction = database_.begin();
    const auto record = database_.get(*transaction, key);
    BELFRY_CHECK_AS(FileError, record.has_value(),
                    "[from_lmdb] expected a record in {}, got none. The database is damaged. Write it again.", where);
    return decode_lmdb_record(*record, where);
  }

 private:
  std::string place(std::string_view key) const { return fmt::format("lmdb '{}', key '{}'", database_.path(), key); }

  std::int64_t read_count() const {
    const LmdbTransaction transaction = database_.begin();
    const auto meta = database_.get(*transaction, kLmdbMetaKey);
    BELFRY_CHECK_AS(FileError, meta.has_value(),
                    "[from_lmdb] expected a database of write_lmdb(), with the key '{}', got another in '{}'. "
                    "from_lmdb_bytes() reads any.",
                    kLmdbMetaKey, database_.path());
    const std::string_view text(reinterpret_cast<const char*>(meta->data()), meta->size());
    const std::int64_t count = decode_lmdb_meta(text, place(kLmdbMetaKey));
    BELFRY_CHECK_AS(FileError, database_.entries() == static_cast<std::size_t>(count) + 1,
                    "[from_lmdb] expected {} points and one other record in '{}', got {} records. The database is "
                    "damaged. Write it again.",
                    count, database_.path(), database_.entries());
    return count;
  }

  LmdbReader database_;
  std::int64_t count_;
};

class LmdbBytesFlow final : public IndexedFlow {
 public:
  explicit LmdbBytesFlow(const std::string& path)
      : IndexedFlow(FlowIdentity{.kind = "lmdb_bytes", .place = path}), database_(path, "from_lmdb_bytes") {
    const LmdbTransaction transaction = database_.begin();
    const LmdbCursor cursor = database_.cursor(*transaction);
    MDB_val key{}, value{};
    int code = mdb_cursor_get(cursor.get(), &key, &value, MDB_FIRST);
    for (; code == MDB_SUCCESS; code = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT)) {
      keys_.append(static_cast<const char*>(key.mv_data), key.mv_size);
      ends_.push_back(keys_.size());
    }
    if (code != MDB_NOTFOUND) database_.check(code, "list the keys of");
  }

  std::int64_t count() const override { return static_cast<std::int64_t>(ends_.size()); }
  std::string describe() const override { return fmt::format("lmdb_bytes(\"{}\")", database_.path()); }

  DataPoint at(std::int64_t index) const override {
    const auto i = static_cast<std::size_t>(index);
    const std::size_t begin = i == 0 ? 0 : ends_.at(i - 1);
    const std::string_view key = std::string_view(keys_).substr(begin, ends_.at(i) - begin);
    const LmdbTransaction transaction = database_.begin();
    const auto value = database_.get(*transaction, key);
    BELFRY_CHECK_AS(FileError, value.has_value(),
                    "[from_lmdb_bytes] expected record {} of '{}', got none: the database has changed since it was "
                    "opened. Read it once it is complete.",
                    index, database_.path());
    return {bytes_array(std::as_bytes(std::span(key))), bytes_array(*value)};
  }

 private:
  LmdbReader database_;
  std::string keys_;               // all of them in a row
  std::vector<std::size_t> ends_;  // of each key
};

}  // namespace

Flow from_lmdb(const std::string& path, LmdbOptions options) {
  Flow flow = std::make_shared<LmdbFlow>(path);
  return options.shuffle ? flow | shuffle(options.seed) : flow;
}

Flow from_lmdb_bytes(const std::string& path) { return std::make_shared<LmdbBytesFlow>(path); }

}  // namespace belfry
