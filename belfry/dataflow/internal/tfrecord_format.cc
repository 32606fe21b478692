#include "belfry/dataflow/internal/tfrecord_format.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "belfry/base/check.h"
#include "belfry/base/internal/masked_crc32c.h"

namespace belfry {
namespace {

static_assert(std::endian::native == std::endian::little, "lengths are read as they lie in the file");

constexpr const char* kRemedy = "Fetch or write the file again.";

}  // namespace

TFRecordReader::TFRecordReader(std::string path, TFRecordPosition position)
    : path_(std::move(path)), file_(path_, "from_tfrecord"), position_(position) {
  BELFRY_CHECK_AS(FileError, file_.skip(position.offset),
                  "[from_tfrecord] expected a file of at least {} bytes, got fewer in '{}'. Is it the file that the "
                  "position was saved with?",
                  position.offset, path_);
}

std::string TFRecordReader::place() const {
  return fmt::format("record {} of '{}', at byte {}", position_.record, path_, position_.offset);
}

void TFRecordReader::fill(void* to, std::size_t bytes, const char* what) {
  const std::size_t got = file_.read(to, bytes);
  BELFRY_CHECK_AS(FileError, got == bytes,
                  "[from_tfrecord] expected {} byte(s) of {} in {}, got {}. The file is truncated. {}", bytes, what,
                  place(), got, kRemedy);
}

bool TFRecordReader::read(Array& record) {
  std::byte header[kTFRecordHeaderBytes];
  if (file_.read(header, 1) == 0) return false;
  fill(header + 1, sizeof header - 1, "a record's header");
  std::uint64_t length = 0;
  std::uint32_t checksum = 0;
  std::memcpy(&length, header, sizeof length);
  std::memcpy(&checksum, header + sizeof length, sizeof checksum);
  BELFRY_CHECK_AS(FileError, checksum == masked_crc32c(std::span(header).first(sizeof length)),
                  "[from_tfrecord] expected a length that matches its checksum in {}, got {}. The file is damaged, or "
                  "not a TFRecord file. {}",
                  place(), length, kRemedy);
  // The end of the file is known before memory is made for what a length claims.
  const std::uint64_t begin = position_.offset + kTFRecordHeaderBytes, most = file_.max_bytes();
  BELFRY_CHECK_AS(FileError, begin + kTFRecordTrailerBytes <= most && length <= most - begin - kTFRecordTrailerBytes,
                  "[from_tfrecord] expected a record that fits the file in {}, got a length of {} where {} {} bytes "
                  "are left. The file is truncated. {}",
                  place(), length, file_.gzipped() ? "at most" : "only", most - std::min(begin, most), kRemedy);
  record = Array(u8, {static_cast<std::int64_t>(length)});
  fill(record.raw(), record.bytes(), "a record's data");
  fill(&checksum, sizeof checksum, "a record's checksum");
  BELFRY_CHECK_AS(
      FileError, checksum == masked_crc32c(std::span(static_cast<const std::byte*>(record.raw()), record.bytes())),
      "[from_tfrecord] expected data that match their checksum in {}, got others in its {} byte(s). The file is "
      "damaged. {}",
      place(), length, kRemedy);
  position_.offset = begin + length + kTFRecordTrailerBytes;
  ++position_.record;
  return true;
}

}  // namespace belfry
