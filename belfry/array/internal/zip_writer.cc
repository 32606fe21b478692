#include <zlib.h>

#include <algorithm>
#include <initializer_list>

#include "belfry/array/internal/stored_array.h"
#include "belfry/array/internal/zip.h"
#include "belfry/array/internal/zip_format.h"
#include "belfry/base/check.h"

namespace belfry {
namespace {

constexpr std::uint16_t kVersion = 20, kVersion64 = 45;  // of the format: 2.0; zip64 needs 4.5
constexpr std::uint16_t kMadeBy = 3 << 8;                // Unix: without it, unpackers ignore the permissions
constexpr std::uint32_t kPermissions = 0100644u << 16;
constexpr std::uint16_t kTime = 0, kDate = 1 << 5 | 1;  // 1980-01-01: equal content gives equal files

std::uint32_t checksum(std::string_view front, std::span<const std::byte> body) {
  uLong crc = crc32(0, nullptr, 0);
  crc = crc32_z(crc, reinterpret_cast<const Bytef*>(front.data()), front.size());
  if (!body.empty()) crc = crc32_z(crc, reinterpret_cast<const Bytef*>(body.data()), body.size());
  return static_cast<std::uint32_t>(crc);
}

template <class T>
void append_all(std::string& to, std::initializer_list<T> numbers) {
  for (const T number : numbers) append_little_endian(to, number);
}

// All of it in memory: its size has to be written before it.
class Deflater {
 public:
  Deflater() {
    constexpr int kRawDeflate = -15, kMemoryLevel = 8;  // no zlib header, the largest window; zlib's default
    const int result =
        deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kRawDeflate, kMemoryLevel, Z_DEFAULT_STRATEGY);
    BELFRY_CHECK_AS(FileError, result == Z_OK, "[npz] expected memory to compress with, got none.");
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void add(const void* data, std::size_t bytes) {
    const auto* from = static_cast<const Bytef*>(data);
    while (bytes > 0) {
      const std::size_t piece = std::min(bytes, std::size_t{1} << 30);  // zlib counts in 32 bits
      stream_.next_in = const_cast<Bytef*>(from);                       // not written through
      stream_.avail_in = static_cast<uInt>(piece);
      while (stream_.avail_in > 0) step(Z_NO_FLUSH);
      from += piece;
      bytes -= piece;
    }
  }
  std::string finish() {
    while (step(Z_FINISH) != Z_STREAM_END) continue;
    return std::move(out_);
  }

 private:
  int step(int flush) {
    stream_.next_out = buffer_;
    stream_.avail_out = sizeof buffer_;
    const int result = deflate(&stream_, flush);
    out_.append(reinterpret_cast<const char*>(buffer_), sizeof buffer_ - stream_.avail_out);
    return result;
  }

  z_stream stream_{};
  Bytef buffer_[1 << 15];
  std::string out_;
};

}  // namespace

struct ZipWriter::Record {
  const std::string& name;
  std::uint32_t crc = 0;
  std::uint64_t size = 0, stored = 0;  // bytes before and after deflating
};

ZipWriter::ZipWriter(const std::string& path, bool deflate, std::uint64_t zip64_from)
    : path_(path), file_(path), deflate_(deflate), zip64_from_(zip64_from) {}

void ZipWriter::add(const std::string& name, std::string_view front, std::span<const std::byte> body) {
  BELFRY_CHECK_AS(FileError, name.size() <= 0xffff, "[npz] '{}': expected names of at most 65535 bytes, got {}.", path_,
                  name.size());
  Record record{.name = name, .crc = checksum(front, body), .size = front.size() + body.size()};
  if (deflate_) {
    Deflater deflater;
    deflater.add(front.data(), front.size());
    deflater.add(body.data(), body.size());
    const std::string packed = deflater.finish();
    record.stored = packed.size();
    write_headers(record);
    file_.write(packed);
  } else {
    record.stored = record.size;
    write_headers(record);
    file_.write(front);
    file_.write(body);
  }
}

// The local header goes to the file, the directory entry to directory_. Of the zip64 numbers a local header has both
// sizes or none, and no offset.
void ZipWriter::write_headers(const Record& record) {
  const std::uint64_t at = file_.size();
  const bool large = std::max(record.size, record.stored) >= zip64_from_, far = at >= zip64_from_;
  const std::string& name = record.name;
  const bool is_ascii = std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  const std::uint16_t version = large || far ? kVersion64 : kVersion;

  std::string common, sizes;  // what the local header and the directory entry have in common
  append_all<std::uint16_t>(common, {version, is_ascii ? std::uint16_t{0} : zip::kUtf8,
                                     deflate_ ? zip::kDeflated : zip::kStored, kTime, kDate});
  append_little_endian(common, record.crc);
  for (const std::uint64_t number : {record.stored, record.size})
    append_little_endian(common, large ? zip::kIsZip64 : static_cast<std::uint32_t>(number));
  append_little_endian(common, static_cast<std::uint16_t>(name.size()));
  if (large) append_all<std::uint64_t>(sizes, {record.size, record.stored});

  const auto extra = [](const std::string& numbers) {
    std::string field;
    if (!numbers.empty())
      append_all<std::uint16_t>(field, {zip::kZip64Extra, static_cast<std::uint16_t>(numbers.size())});
    return field + numbers;
  };
  std::string local;
  append_little_endian(local, zip::kLocalSignature);
  local += common;
  append_little_endian(local, static_cast<std::uint16_t>(extra(sizes).size()));
  local += name + extra(sizes);

  if (far) append_little_endian(sizes, at);
  append_little_endian(directory_, zip::kEntrySignature);
  append_little_endian(directory_, static_cast<std::uint16_t>(kMadeBy | version));
  directory_ += common;
  append_little_endian(directory_, static_cast<std::uint16_t>(extra(sizes).size()));
  directory_.append(6, '\0');  // no comment, disk 0, no internal attributes
  append_little_endian(directory_, kPermissions);
  append_little_endian(directory_, far ? zip::kIsZip64 : static_cast<std::uint32_t>(at));
  directory_ += name + extra(sizes);
  ++entries_;
  file_.write(local);
}

// The zip64 end of the directory and its locator.
std::string ZipWriter::end64() const {
  const std::uint64_t directory_at = file_.size() - directory_.size();
  std::string end;
  append_little_endian(end, zip::kEnd64Signature);
  append_little_endian(end, std::uint64_t{zip::kEnd64Bytes - 12});
  append_all<std::uint16_t>(end, {static_cast<std::uint16_t>(kMadeBy | kVersion64), kVersion64});
  append_little_endian(end, std::uint64_t{0});  // disk 0, directory on disk 0
  append_all<std::uint64_t>(end, {entries_, entries_, directory_.size(), directory_at});
  append_all<std::uint32_t>(end, {zip::kLocatorSignature, 0});
  append_little_endian(end, file_.size());
  append_little_endian(end, std::uint32_t{1});  // one disk
  return end;
}

void ZipWriter::commit() {
  const std::uint64_t directory_at = file_.size();
  file_.write(directory_);
  const bool large = std::max<std::uint64_t>(directory_.size(), directory_at) >= zip64_from_;
  if (large || entries_ >= zip::kIsZip64Count) file_.write(end64());

  std::string end;
  append_little_endian(end, zip::kEndSignature);
  append_little_endian(end, std::uint32_t{0});  // disk 0, directory on disk 0
  const auto count = static_cast<std::uint16_t>(std::min<std::uint64_t>(entries_, zip::kIsZip64Count));
  append_all<std::uint16_t>(end, {count, count});
  for (const std::uint64_t number : {std::uint64_t{directory_.size()}, directory_at})
    append_little_endian(end, large ? zip::kIsZip64 : static_cast<std::uint32_t>(number));
  append_little_endian(end, std::uint16_t{0});  // no comment
  file_.write(end);
  file_.commit();
}

}  // namespace belfry
