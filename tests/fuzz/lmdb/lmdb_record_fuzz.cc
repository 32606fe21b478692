#include "belfry/base/internal/crc32c.h"
#include "belfry/dataflow/lmdb/internal/lmdb_record.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

// As a record, as a point to which we put the checksum that fuzzers do not find, and as the record about the others.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(text_of(data, size));
  const auto read = [](const std::string& record) {
    refused_or_read([&] {
      const belfry::DataPoint point = belfry::decode_lmdb_record(std::as_bytes(std::span(record)), "a record");
      touch(point);
      require(belfry::encode_lmdb_record(point) == record);
    });
  };
  read(bytes);
  const std::uint32_t checksum = belfry::crc32c(std::as_bytes(std::span(bytes)));
  read(bytes + std::string(reinterpret_cast<const char*>(&checksum), sizeof checksum));
  return refused_or_read([&] { require(belfry::decode_lmdb_meta(bytes, "a record") >= 0); });
}
