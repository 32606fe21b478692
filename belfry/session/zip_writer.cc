#include <zlib.h>

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/session/stored_array.h"
#include "belfry/session/zip.h"
#include "belfry/session/zip_format.h"

namespace belfry {
namespace {

constexpr std::uint16_t kVersion = 20;          // of the format: 2.0
constexpr std::uint16_t kMadeBy = 3 << 8 | 20;  // Unix: without it, unpackers ignore the permissions
constexpr std::uint32_t kPermissions = 0100644u << 16;
constexpr std::uint16_t kTime = 0, kDate = 1 << 5 | 1;  // 1980-01-01: equal content gives equal files

std::uint32_t checksum(std::string_view front, std::span<const std::byte> body) {
  uLong crc = crc32(0, nullptr, 0);
  crc = crc32_z(crc, reinterpret_cast<const Bytef*>(front.data()), front.size());
  if (!body.empty()) crc = crc32_z(crc, reinterpret_cast<const Bytef*>(body.data()), body.size());
  return static_cast<std::uint32_t>(crc);
}

}  // namespace

ZipWriter::ZipWriter(const std::string& path) : path_(path), file_(path) {}

void ZipWriter::add(const std::string& name, std::string_view front, std::span<const std::byte> body) {
  BELFRY_CHECK_AS(FileError, name.size() <= 0xffff, "[npz] '{}': expected names of at most 65535 bytes, got {}.", path_,
                  name.size());
  // The sum counts everything up to the end of the directory, so no offset or size in the file can be too large.
  const std::uint64_t record = zip::kLocalBytes + zip::kEntryBytes + 2 * name.size();
  const std::uint64_t total = file_.size() + directory_.size() + record + front.size() + body.size() + zip::kEndBytes;
  BELFRY_CHECK_AS(FileError, total < zip::kIsZip64 && entries_ + 1 < zip::kIsZip64Count,
                  "[npz] '{}': expected fewer than 65535 arrays and less than 4 GiB in all, got {} arrays and {} "
                  "bytes. Use safetensors.",
                  path_, entries_ + 1, total);

  const bool is_ascii = std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  const auto size = static_cast<std::uint32_t>(front.size() + body.size());
  std::string common;  // what the local header and the directory entry have in common
  for (const std::uint16_t field : {kVersion, is_ascii ? std::uint16_t{0} : zip::kUtf8, zip::kStored, kTime, kDate})
    append_little_endian(common, field);
  for (const std::uint32_t field : {checksum(front, body), size, size}) append_little_endian(common, field);
  append_little_endian(common, static_cast<std::uint16_t>(name.size()));
  append_little_endian(common, std::uint16_t{0});  // no extra field

  append_little_endian(directory_, zip::kEntrySignature);
  append_little_endian(directory_, kMadeBy);
  directory_ += common;
  directory_.append(6, '\0');  // no comment, disk 0, no internal attributes
  append_little_endian(directory_, kPermissions);
  append_little_endian(directory_, static_cast<std::uint32_t>(file_.size()));
  directory_ += name;
  ++entries_;

  std::string local;
  append_little_endian(local, zip::kLocalSignature);
  file_.write(local + common + name);
  file_.write(front);
  file_.write(body);
}

void ZipWriter::commit() {
  std::string end;
  append_little_endian(end, zip::kEndSignature);
  append_little_endian(end, std::uint32_t{0});  // disk 0, directory on disk 0
  for (int i = 0; i < 2; ++i) append_little_endian(end, static_cast<std::uint16_t>(entries_));
  append_little_endian(end, static_cast<std::uint32_t>(directory_.size()));
  append_little_endian(end, static_cast<std::uint32_t>(file_.size()));
  append_little_endian(end, std::uint16_t{0});  // no comment
  file_.write(directory_);
  file_.write(end);
  file_.commit();
}

}  // namespace belfry
