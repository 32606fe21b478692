#include "belfry/dataflow/lmdb/internal/lmdb_record.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "belfry/base/check.h"
#include "belfry/base/internal/crc32c.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/dataflow/encoding.h"

namespace belfry {
namespace {

constexpr const char* kFormat = "belfry-lmdb";
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kChecksumBytes = sizeof(std::uint32_t);

}  // namespace

std::string lmdb_key(std::int64_t index) { return fmt::format("{:010}", index); }

std::string encode_lmdb_record(const DataPoint& point) {
  std::string record(encoded_bytes(point) + kChecksumBytes, '\0');
  const auto bytes = std::as_writable_bytes(std::span(record));
  const auto encoded = bytes.first(bytes.size() - kChecksumBytes);
  encode_to(point, encoded);
  const std::uint32_t checksum = crc32c(encoded);
  std::memcpy(bytes.data() + encoded.size(), &checksum, kChecksumBytes);
  return record;
}

DataPoint decode_lmdb_record(std::span<const std::byte> record, std::string_view where) {
  BELFRY_CHECK_AS(FileError, record.size() >= kChecksumBytes,
                  "[from_lmdb] expected a datapoint and its checksum in {}, got {} byte(s). The record is damaged.",
                  where, record.size());
  const auto encoded = record.first(record.size() - kChecksumBytes);
  std::uint32_t checksum = 0;
  std::memcpy(&checksum, record.data() + encoded.size(), kChecksumBytes);
  BELFRY_CHECK_AS(FileError, checksum == crc32c(encoded),
                  "[from_lmdb] expected a datapoint that matches its checksum in {}, got another in its {} bytes. The "
                  "record is damaged. Write the database again.",
                  where, record.size());
  return decode(encoded, where);
}

std::string encode_lmdb_meta(std::int64_t count) {
  return nlohmann::ordered_json{{"format", kFormat}, {"version", kVersion}, {"count", count}}.dump();
}

std::int64_t decode_lmdb_meta(std::string_view meta, std::string_view where) {
  const nlohmann::json json = nlohmann::json::parse(meta, nullptr, false);
  const auto is = [&](const char* name, const auto& value) { return json.contains(name) && json[name] == value; };
  BELFRY_CHECK_AS(FileError,
                  json.is_object() && is("format", kFormat) && is("version", kVersion) && json.contains("count") &&
                      json["count"].is_number_unsigned() && json["count"].get<std::uint64_t>() <= kMaxLmdbPoints,
                  "[from_lmdb] expected the format {}, version {}, and a count in {}, got {}. Was the database "
                  "written by another version of Belfry?",
                  kFormat, kVersion, where, in_quotes(meta));
  return json["count"].get<std::int64_t>();
}

}  // namespace belfry
