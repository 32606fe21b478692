#include "belfry/session/safetensors.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/session/internal/safetensors_header.h"

namespace belfry {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);

using Named = std::pair<const std::string, SafetensorsEntry>;

// In the order of their data: every array starts where the one before ends, from the first byte to the last. So none
// overlap and there are no holes; with the lengths agreeing too, every array lies inside the file.
void check_layout(const SafetensorsHeader& header, std::uint64_t data_bytes, const std::string& path) {
  std::vector<const Named*> order;
  for (const Named& named : header.tensors) order.push_back(&named);
  std::ranges::sort(order, {}, [](const Named* n) { return std::tuple(n->second.begin, n->second.end); });

  std::uint64_t expected_begin = 0;
  for (const Named* named : order) {
    const auto& [name, entry] = *named;
    const auto bytes = checked_bytes(entry.dtype, entry.shape);
    BELFRY_CHECK_AS(FileError, bytes.has_value(),
                    "[safetensors] '{}': tensor {}: expected a shape whose size fits 63 bits, got {}.", path,
                    in_quotes(name), to_string(entry.shape));
    BELFRY_CHECK_AS(FileError, entry.begin <= entry.end && entry.end <= data_bytes,
                    "[safetensors] '{}': tensor {}: expected data_offsets within the file's {} bytes of data, got "
                    "[{}, {}]. The file may be cut short.",
                    path, in_quotes(name), data_bytes, entry.begin, entry.end);
    BELFRY_CHECK_AS(FileError, entry.end - entry.begin == *bytes,
                    "[safetensors] '{}': tensor {}: expected {} bytes for {} {}, got data_offsets [{}, {}].", path,
                    in_quotes(name), *bytes, name_of(entry.dtype), to_string(entry.shape), entry.begin, entry.end);
    BELFRY_CHECK_AS(FileError, entry.begin == expected_begin,
                    "[safetensors] '{}': tensor {}: expected its data to start at {}, where the one before ends, "
                    "got {}.",
                    path, in_quotes(name), expected_begin, entry.begin);
    expected_begin = entry.end;
  }
  BELFRY_CHECK_AS(FileError, expected_begin == data_bytes,
                  "[safetensors] '{}': expected the tensors to fill {} bytes of data, got {}.", path, data_bytes,
                  expected_begin);
}

Array array_over(const std::string& name, const SafetensorsEntry& entry, std::span<std::byte> data,
                 const std::shared_ptr<MappedFile>& file, const std::string& path) {
  const std::span<std::byte> bytes = data.subspan(entry.begin, entry.end - entry.begin);
  BELFRY_CHECK_AS(FileError, entry.dtype != DType::boolean || are_booleans(bytes),
                  "[safetensors] '{}': tensor {}: expected booleans of 0 or 1, got another byte.", path,
                  in_quotes(name));
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % size_of(entry.dtype) == 0;
  if (is_aligned && !bytes.empty()) return Array(entry.dtype, entry.shape, bytes.data(), file);
  Array copy(entry.dtype, entry.shape);
  if (!bytes.empty()) std::memcpy(copy.raw(), bytes.data(), bytes.size());
  return copy;
}

}  // namespace

void write_safetensors(const std::string& path, const std::map<std::string, Array>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  SafetensorsHeader header{.tensors = {}, .metadata = metadata};
  for (const auto& [name, array] : tensors) {
    BELFRY_CHECK_AS(
        FileError, name != kSafetensorsMetadata,
        "[safetensors] '{}': expected no tensor named '__metadata__', which the format reserves, got one. Rename it.",
        path);
    SafetensorsEntry& entry = header.tensors[name];
    entry.dtype = array.dtype();
    entry.shape = array.shape();
  }
  // Wide types first: then every array begins at a multiple of its element's size.
  std::vector<const Array*> order;
  std::uint64_t offset = 0;
  for (const std::size_t width : {8, 4, 1})
    for (const auto& [name, array] : tensors) {
      if (size_of(array.dtype()) != width) continue;
      SafetensorsEntry& entry = header.tensors.at(name);
      entry.begin = offset;
      entry.end = offset += array.bytes();
      order.push_back(&array);
    }
  BELFRY_BUG_IF(order.size() != tensors.size(), "a dtype of another width than 8, 4 or 1");

  std::string text = format_safetensors_header(header, path);
  text.append((kAlignment - (kLengthBytes + text.size()) % kAlignment) % kAlignment, ' ');
  BELFRY_CHECK_AS(FileError, text.size() <= kMaxSafetensorsHeader,
                  "[safetensors] '{}': expected names and metadata of at most {} bytes, got {}. Split the file.", path,
                  kMaxSafetensorsHeader, text.size());
  std::string length;
  append_little_endian<std::uint64_t>(length, text.size());

  AtomicFile file(path);
  file.write(length);
  file.write(text);
  for (const Array* array : order) file.write(std::span(static_cast<const std::byte*>(array->raw()), array->bytes()));
  file.commit();
}

SafetensorsFile read_safetensors(const std::string& path) {
  const auto file = std::make_shared<MappedFile>(path, MappedFile::Access::copy_on_write);
  const std::span<std::byte> bytes = file->writable_bytes();
  BELFRY_CHECK_AS(FileError, bytes.size() >= kLengthBytes,
                  "[safetensors] '{}': expected at least {} bytes, got {}. The file may be cut short.", path,
                  kLengthBytes, bytes.size());
  const auto length = load_little_endian<std::uint64_t>(bytes.data());
  const std::uint64_t most = std::min<std::uint64_t>(bytes.size() - kLengthBytes, kMaxSafetensorsHeader);
  BELFRY_CHECK_AS(FileError, length <= most,
                  "[safetensors] '{}': expected a header of at most {} bytes, got a length of {}. The file may be cut "
                  "short, or not a safetensors file.",
                  path, most, length);
  const std::span<std::byte> data = bytes.subspan(kLengthBytes + length);
  SafetensorsHeader header =
      parse_safetensors_header({reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length}, path);
  check_layout(header, data.size(), path);

  SafetensorsFile out{.tensors = {}, .metadata = std::move(header.metadata)};
  for (const auto& [name, entry] : header.tensors)
    out.tensors.emplace_hint(out.tensors.end(), name, array_over(name, entry, data, file, path));
  return out;
}

}  // namespace belfry
