// What the databases of write_lmdb() hold. The key of a point is its number, in ten digits; the value is the point as
// encoding.h has it, followed by its CRC-32C. The key "belfry", which sorts after all of them, describes the database:
//
//   {"format":"belfry-lmdb","version":1,"count":60000}
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "belfry/dataflow/dataflow.h"

namespace belfry {

inline constexpr std::string_view kLmdbMetaKey = "belfry";
inline constexpr std::int64_t kMaxLmdbPoints = 10'000'000'000;  // what ten digits can count

std::string lmdb_key(std::int64_t index);

std::string encode_lmdb_record(const DataPoint& point);
// Both throw FileError on anything that was not written here; `where` names the database and the key.
DataPoint decode_lmdb_record(std::span<const std::byte> record, std::string_view where);

std::string encode_lmdb_meta(std::int64_t count);
std::int64_t decode_lmdb_meta(std::string_view meta, std::string_view where);  // the count

}  // namespace belfry
