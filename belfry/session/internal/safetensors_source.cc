#include "belfry/session/internal/safetensors_source.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"
#include "belfry/base/internal/aligned_memory.h"
#include "belfry/session/internal/safetensors_checksums.h"
#include "belfry/session/internal/tensor_checks.h"

namespace belfry {
namespace {

// The disk is kept at work so far ahead: otherwise it would wait while a checksum is made. A multiple of a piece.
constexpr std::uint64_t kWindow = 8 * kSafetensorsPiece;

// Large pages: otherwise the time to get memory is a good part of the time to read a file into it.
std::shared_ptr<void> allocate_for(std::uint64_t bytes) {
  constexpr std::uint64_t kLarge = 4 << 20;
  if (bytes < kLarge) return allocate_buffer(bytes);
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  ::madvise(data, bytes, MADV_HUGEPAGE);  // only advice
  return {data, [bytes](void* p) { ::munmap(p, bytes); }};
}

Array array_over(const NamedEntry& named, std::span<std::byte> data, const std::shared_ptr<void>& owner,
                 const std::string& path) {
  const auto& [name, entry] = named;
  const std::span<std::byte> bytes = data.subspan(entry.begin, entry.end - entry.begin);
  if (entry.foreign)
    return widened(*entry.foreign, entry.shape, bytes,
                   fmt::format("[safetensors] '{}': tensor {}", path, in_quotes(name)));
  BELFRY_CHECK_AS(FileError, entry.dtype != DType::boolean || are_booleans(bytes),
                  "[safetensors] '{}': tensor {}: expected booleans of 0 or 1, got another byte.", path,
                  in_quotes(name));
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % size_of(entry.dtype) == 0;
  if (is_aligned && !bytes.empty()) return Array(entry.dtype, entry.shape, bytes.data(), owner);
  Array copy(entry.dtype, entry.shape);
  if (!bytes.empty()) std::memcpy(copy.raw(), bytes.data(), bytes.size());
  return copy;
}

std::string header_text(const RegularFile& file) {
  const std::string& path = file.path();
  BELFRY_CHECK_AS(FileError, file.size() >= kSafetensorsLength,
                  "[safetensors] '{}': expected at least {} bytes, got {}. The file may be cut short.", path,
                  kSafetensorsLength, file.size());
  std::byte front[kSafetensorsLength];
  file.read(0, front);
  const auto length = load_little_endian<std::uint64_t>(front);
  const std::uint64_t most = std::min<std::uint64_t>(file.size() - kSafetensorsLength, kMaxSafetensorsHeader);
  BELFRY_CHECK_AS(FileError, length <= most,
                  "[safetensors] '{}': expected a header of at most {} bytes, got a length of {}. The file may be cut "
                  "short, or not a safetensors file.",
                  path, most, length);
  std::string text(length, '\0');
  file.read(kSafetensorsLength, std::as_writable_bytes(std::span(text.data(), text.size())));
  return text;
}

void check_header(std::string_view text, std::uint32_t expected, const std::string& path) {
  const std::size_t digits = find_checksums(text);
  const bool is_found = digits != std::string_view::npos;
  const std::uint32_t got = is_found ? header_checksum(text, digits) : 0;
  BELFRY_CHECK_AS(FileError, is_found && got == expected,
                  "[safetensors] '{}': expected a header with the checksum {:08x}, got {:08x}. The file is damaged, or "
                  "another program has copied the metadata '{}' into a file of its own, which it must leave out.",
                  path, expected, got, kChecksums);
}

}  // namespace

SafetensorsSource::SafetensorsSource(const std::string& path) : file_(path) {
  const std::string text = header_text(file_);
  data_begin_ = kSafetensorsLength + text.size();
  header_ = parse_safetensors_header(text, path);
  if (const auto at = header_.metadata.find(std::string(kChecksums)); at != header_.metadata.end()) {
    checksums_ = parse_checksums(at->second, header_.tensors.size(), path);
    header_.metadata.erase(at);
    check_header(text, checksums_.front(), path);
  }
  check_layout();
}

// In the order of their data, every array starts where the one before ends, from the first byte to the last. So none
// overlap and there are no holes; with the lengths agreeing too, every array lies inside the file.
void SafetensorsSource::check_layout() const {
  const std::string& path = file_.path();
  const std::uint64_t data_bytes = file_.size() - data_begin_;
  std::uint64_t expected_begin = 0;
  for (const NamedEntry* named : in_order_of_data(header_)) {
    const auto& [name, entry] = *named;
    const auto bytes = entry.bytes();
    BELFRY_CHECK_AS(FileError, bytes.has_value(),
                    "[safetensors] '{}': tensor {}: expected a shape whose size fits 63 bits, got {}.", path,
                    in_quotes(name), to_string(entry.shape));
    BELFRY_CHECK_AS(FileError, entry.begin <= entry.end && entry.end <= data_bytes,
                    "[safetensors] '{}': tensor {}: expected data_offsets within the file's {} bytes of data, got "
                    "[{}, {}]. The file may be cut short.",
                    path, in_quotes(name), data_bytes, entry.begin, entry.end);
    BELFRY_CHECK_AS(FileError, entry.end - entry.begin == *bytes,
                    "[safetensors] '{}': tensor {}: expected {} bytes for {} {}, got data_offsets [{}, {}].", path,
                    in_quotes(name), *bytes, entry.type_name(), to_string(entry.shape), entry.begin, entry.end);
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

std::map<std::string, Array> SafetensorsSource::read() const {
  const std::uint64_t size = file_.size() - data_begin_;
  const std::shared_ptr<void> memory = allocate_for(size);
  const std::span<std::byte> data(static_cast<std::byte*>(memory.get()), size);
  const auto read_all = [&](auto&& let) {
    for (std::uint64_t done = 0; done < size;) {
      if (done % kWindow == 0) file_.fetch(data_begin_ + done, 2 * kWindow);
      const std::span<std::byte> piece = data.subspan(done, std::min<std::uint64_t>(kSafetensorsPiece, size - done));
      file_.read(data_begin_ + done, piece);
      let(done, piece);
      done += piece.size();
    }
  };
  constexpr std::uint64_t kWorthAThread = 16 << 20;
  if (!has_checksums()) {
    read_all([](std::uint64_t, std::span<std::byte>) {});
  } else if (TensorChecks checks(header_, std::span(checksums_).subspan(1), file_.path()); size < kWorthAThread) {
    read_all([&](std::uint64_t done, std::span<std::byte> piece) { checks.take(piece, done); });
  } else {
    ChecksBehind behind(std::move(checks), data);
    read_all([&](std::uint64_t done, std::span<std::byte> piece) { behind.let(done + piece.size()); });
    behind.finish();
  }
  std::map<std::string, Array> out;
  for (const NamedEntry& named : header_.tensors)
    out.emplace_hint(out.end(), named.first, array_over(named, data, memory, file_.path()));
  return out;
}

}  // namespace belfry
