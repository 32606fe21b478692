#include <zlib.h>

#include <cstring>

#include "belfry/dataflow/internal/point_file.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kTrailer = 32;  // count, place of the index, bytes of the text; checksum; end mark

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint64_t number_at(const std::string& bytes, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

void put_checksum(std::string& bytes, std::size_t at, std::uint32_t sum) {
  std::memcpy(bytes.data() + at, &sum, sizeof sum);
}

// The file with the checksums that fuzzers do not find, of the points and of the index, where it has places for them.
std::string with_checksums(std::string bytes) {
  if (bytes.size() < kTrailer) return bytes;
  const std::size_t trailer = bytes.size() - kTrailer;
  const std::uint64_t count = number_at(bytes, trailer), index = number_at(bytes, trailer + 8);
  if (index > trailer || count > (trailer - index) / 12) return bytes;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = number_at(bytes, index + 8 * i);
    const std::uint64_t end = i + 1 < count ? number_at(bytes, index + 8 * (i + 1)) : index;
    if (begin <= end && end <= index)
      put_checksum(bytes, index + 8 * count + 4 * i, checksum(std::string_view(bytes).substr(begin, end - begin)));
  }
  put_checksum(bytes, trailer + 24, checksum(std::string_view(bytes).substr(index, trailer + 24 - index)));
  return bytes;
}

void read(const std::string& bytes) {
  const MemoryFile memory(bytes);
  refused_or_read([&] {
    const belfry::PointFile file(memory.path());
    require(file.text().size() + 12 * static_cast<std::size_t>(file.count()) <= bytes.size());
    for (std::int64_t i = 0; i < file.count(); ++i) refused_or_read([&] { touch(file.at(i)); });
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(text_of(data, size));
  read(bytes);
  read(with_checksums(bytes));
  return 0;
}
