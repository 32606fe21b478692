#include "belfry/dataflow/internal/point_file.h"

#include <zlib.h>

#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "belfry/base/check.h"
#include "belfry/dataflow/encoding.h"

namespace belfry {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is that of little-endian machines");

constexpr std::string_view kBegin = "BELFRYC1", kEnd = "CEND";
constexpr std::size_t kNumbers = 3 * sizeof(std::uint64_t);
constexpr std::size_t kTrailer = kNumbers + sizeof(std::uint32_t) + kEnd.size();
constexpr std::size_t kIndexEntry = sizeof(std::uint64_t) + sizeof(std::uint32_t);
constexpr const char* kRemedy = "Remove the file: it will be written again from its source.";

std::uint32_t checksum(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  // zlib takes a null pointer for a wish to begin.
  if (bytes.empty()) return before;
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

template <class T>
T number_at(std::span<const std::byte> bytes, std::uint64_t at) {
  T value;
  std::memcpy(&value, bytes.subspan(at, sizeof(T)).data(), sizeof(T));
  return value;
}

bool holds(std::span<const std::byte> bytes, std::uint64_t at, std::string_view mark) {
  return std::memcmp(bytes.subspan(at, mark.size()).data(), mark.data(), mark.size()) == 0;
}

}  // namespace

PointFileWriter::PointFileWriter(const std::string& path) : file_(path) { file_.write(kBegin); }

void PointFileWriter::add(const DataPoint& point) {
  const std::string bytes = encode(point);
  offsets_.push_back(file_.size());
  checksums_.push_back(checksum(std::as_bytes(std::span(bytes))));
  file_.write(bytes);
}

void PointFileWriter::commit(const std::string& text) {
  const std::vector<std::uint64_t> numbers{offsets_.size(), file_.size(), text.size()};
  std::uint32_t sum = 0;
  for (const std::span<const std::byte> part :
       {std::as_bytes(std::span(offsets_)), std::as_bytes(std::span(checksums_)), std::as_bytes(std::span(text)),
        std::as_bytes(std::span(numbers))}) {
    sum = checksum(part, sum);
    file_.write(part);
  }
  file_.write(std::as_bytes(std::span(&sum, 1)));
  file_.write(kEnd);
  file_.commit();
}

PointFile::PointFile(const std::string& path) : path_(path), file_(path) {
  const std::span<const std::byte> bytes = file_.bytes();
  BELFRY_CHECK_AS(FileError, bytes.size() >= kBegin.size() && holds(bytes, 0, kBegin),
                  "[cache_on_disk] expected a cache, which begins with '{}', got something else in '{}'. Name another "
                  "file.",
                  kBegin, path);
  BELFRY_CHECK_AS(FileError, bytes.size() >= kBegin.size() + kTrailer && holds(bytes, bytes.size() - kEnd.size(), kEnd),
                  "[cache_on_disk] expected '{}' at the end of '{}', got something else. The file is truncated. {}",
                  kEnd, path, kRemedy);
  const std::uint64_t trailer = bytes.size() - kTrailer;
  count_ = number_at<std::uint64_t>(bytes, trailer);
  index_at_ = number_at<std::uint64_t>(bytes, trailer + 8);
  const auto text_bytes = number_at<std::uint64_t>(bytes, trailer + 16);
  // Each is bounded before they are added: none of the sums can overflow.
  const bool fits = index_at_ >= kBegin.size() && index_at_ <= trailer && count_ <= trailer / kIndexEntry &&
                    text_bytes <= trailer && index_at_ + count_ * kIndexEntry + text_bytes == trailer;
  const bool good = fits && checksum(bytes.subspan(index_at_, trailer + kNumbers - index_at_)) ==
                                number_at<std::uint32_t>(bytes, trailer + kNumbers);
  BELFRY_CHECK_AS(FileError, good,
                  "[cache_on_disk] expected an index with its checksum in '{}', got another. The file is damaged. {}",
                  path, kRemedy);
  text_.assign(reinterpret_cast<const char*>(bytes.data()) + trailer - text_bytes, text_bytes);
}

std::uint64_t PointFile::offset(std::uint64_t index) const {
  return index == count_ ? index_at_ : number_at<std::uint64_t>(file_.bytes(), index_at_ + 8 * index);
}

DataPoint PointFile::at(std::int64_t index) const {
  const auto i = static_cast<std::uint64_t>(index);
  BELFRY_BUG_IF(i >= count_, "point {} of {} is asked for", index, count_);
  const std::uint64_t begin = offset(i), end = offset(i + 1);
  const bool inside = kBegin.size() <= begin && begin <= end && end <= index_at_;
  const std::span<const std::byte> bytes = inside ? file_.bytes().subspan(begin, end - begin) : file_.bytes().first(0);
  const auto expected = number_at<std::uint32_t>(file_.bytes(), index_at_ + 8 * count_ + 4 * i);
  BELFRY_CHECK_AS(FileError, inside && checksum(bytes) == expected,
                  "[cache_on_disk] expected the checksum {:08x} for point {} in '{}', got {:08x}. The file is damaged. "
                  "{}",
                  expected, index, path_, checksum(bytes), kRemedy);
  return decode(bytes, fmt::format("point {} of '{}'", index, path_));
}

}  // namespace belfry
