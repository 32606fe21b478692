#include "belfry/session/safetensors.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/crc32c.h"
#include "belfry/session/internal/safetensors_checksums.h"
#include "belfry/session/internal/safetensors_header.h"
#include "belfry/session/internal/safetensors_source.h"
#include "belfry/session/internal/safetensors_writer.h"

namespace belfry {
namespace {

constexpr std::size_t kAlignment = 64;

// Writes the data and returns their checksum: one pass over memory, not two.
std::uint32_t write_data(AtomicFile& file, std::span<const std::byte> data) {
  std::uint32_t crc = 0;
  while (!data.empty()) {
    const std::span<const std::byte> piece = data.first(std::min(kSafetensorsPiece, data.size()));
    crc = crc32c(piece, crc);
    file.write(piece);
    data = data.subspan(piece.size());
  }
  return crc;
}

// Wide types first: then every array begins at a multiple of its element's size. Returns the names in that order.
std::vector<std::string> lay_out(const std::map<std::string, Array>& tensors, SafetensorsHeader& header) {
  std::vector<std::string> order;
  std::uint64_t offset = 0;
  for (const std::size_t width : {8, 4, 1})
    for (const auto& [name, array] : tensors) {
      if (size_of(array.dtype()) != width) continue;
      const std::uint64_t begin = std::exchange(offset, offset + array.bytes());
      header.tensors[name] = {.dtype = array.dtype(), .shape = array.shape(), .begin = begin, .end = offset};
      order.push_back(name);
    }
  BELFRY_BUG_IF(order.size() != tensors.size(), "a dtype of another width than 8, 4 or 1");
  return order;
}

void check_names(const std::map<std::string, Array>& tensors, const std::map<std::string, std::string>& metadata,
                 const std::string& path) {
  BELFRY_CHECK_AS(
      FileError, !tensors.contains(std::string(kSafetensorsMetadata)),
      "[safetensors] '{}': expected no tensor named '__metadata__', which the format reserves, got one. Rename it.",
      path);
  BELFRY_CHECK_AS(FileError, !metadata.contains(std::string(kChecksums)),
                  "[safetensors] '{}': expected no metadata named '{}', which is written here, got some. Leave it out.",
                  path, kChecksums);
}

}  // namespace

SafetensorsWritten write_safetensors_file(const std::string& path, const std::map<std::string, Array>& tensors,
                                          const std::map<std::string, std::string>& metadata) {
  check_names(tensors, metadata, path);
  SafetensorsHeader header{.tensors = {}, .metadata = metadata};
  header.metadata.emplace(kChecksums, blank_checksums(tensors.size()));
  const std::vector<std::string> order = lay_out(tensors, header);

  std::string text = format_safetensors_header(header, path);
  text.append((kAlignment - (kSafetensorsLength + text.size()) % kAlignment) % kAlignment, ' ');
  BELFRY_CHECK_AS(FileError, text.size() <= kMaxSafetensorsHeader,
                  "[safetensors] '{}': expected names and metadata of at most {} bytes, got {}. Split the file.", path,
                  kMaxSafetensorsHeader, text.size());
  std::string length;
  append_little_endian<std::uint64_t>(length, text.size());

  AtomicFile file(path);
  file.write(length);
  file.write(text);
  std::map<std::string, std::uint32_t> checksums;
  for (const std::string& name : order) {
    const Array& array = tensors.at(name);
    checksums[name] = write_data(file, std::span(static_cast<const std::byte*>(array.raw()), array.bytes()));
  }

  const std::size_t digits = find_checksums(text);
  std::size_t number = 0;
  for (const auto& [name, checksum] : checksums) put_checksum(text, digits, ++number, checksum);
  const std::uint32_t own = header_checksum(text, digits);
  put_checksum(text, digits, 0, own);
  const std::string_view all = std::string_view(text).substr(digits, blank_checksums(tensors.size()).size());
  file.overwrite(kSafetensorsLength + digits, all);
  file.commit();
  return {.bytes = file.size(), .checksum = own};
}

void write_safetensors(const std::string& path, const std::map<std::string, Array>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  write_safetensors_file(path, tensors, metadata);
}

SafetensorsFile read_safetensors(const std::string& path) {
  const SafetensorsSource source(path);
  return {.tensors = source.read(), .metadata = source.header().metadata};
}

SafetensorsListing list_safetensors(const std::string& path) {
  const SafetensorsSource source(path);
  SafetensorsListing out{.tensors = {}, .metadata = source.header().metadata, .has_checksums = source.has_checksums()};
  for (const auto& [name, entry] : source.header().tensors)
    out.tensors.emplace_hint(out.tensors.end(), name, StoredTensor{.dtype = entry.dtype, .shape = entry.shape});
  return out;
}

}  // namespace belfry
