#include "belfry/session/internal/tf/bundle_data.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/base/internal/masked_crc32c.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/session/internal/tf/bundle_path.h"
#include "belfry/session/internal/tf/tensor_slices.h"
#include "belfry/session/internal/tf/tf_type.h"

namespace belfry {
namespace {

// Otherwise a small file could hold the same bytes as any number of tensors.
void check_places(const std::string& prefix, const BundleIndex& index) {
  std::vector<const BundleEntry*> order;
  for (const auto& [key, entry] : index.entries)
    if (entry.slices.empty() && entry.size > 0) order.push_back(&entry);
  std::ranges::sort(order, {}, [](const BundleEntry* e) { return std::tuple(e->file, e->offset); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const BundleEntry &before = *order[i - 1], &entry = *order[i];
    BELFRY_CHECK_AS(FileError, before.file != entry.file || before.size <= entry.offset - before.offset,
                    "[tf_checkpoint] '{}': expected tensors that have no bytes in common, got {} bytes at {} and {} at "
                    "{} of data file {}. The index is damaged.",
                    prefix, before.size, before.offset, entry.size, entry.offset, entry.file);
  }
}

}  // namespace

BundleData::BundleData(std::string prefix, const BundleIndex& index) : prefix_(std::move(prefix)), index_(index) {
  check_places(prefix_, index);
}

Array BundleData::read(const std::string& name, const BundleEntry& entry) {
  const std::string where = fmt::format("'{}': tensor {}", prefix_, in_quotes(name));
  BELFRY_CHECK_AS(FileError, checked_bytes(*tf_type(entry.type).dtype, Shape(entry.dims)).has_value(),
                  "[tf_checkpoint] {}: expected a shape whose size fits 63 bits, got {}. The index is damaged.", where,
                  to_string(Shape(entry.dims)));
  return entry.slices.empty() ? array_of(where, entry, piece(where, entry)) : joined(name, where, entry);
}

const std::shared_ptr<MappedFile>& BundleData::open(std::uint64_t file) {
  std::shared_ptr<MappedFile>& opened = files_[file];
  if (opened) return opened;
  const std::string path = bundle_data_path(prefix_, file, index_.files);
  std::error_code ignored;
  BELFRY_CHECK_AS(FileError, std::filesystem::exists(path, ignored),
                  "[tf_checkpoint] '{}': expected its {} data file(s) beside the index, got no '{}'. Copy all files of "
                  "the checkpoint.",
                  prefix_, index_.files, path);
  opened = std::make_shared<MappedFile>(path, MappedFile::Access::copy_on_write);
  return opened;
}

BundleData::Piece BundleData::piece(const std::string& where, const BundleEntry& entry) {
  const TfType type = tf_type(entry.type);
  const Shape shape(entry.dims);
  const std::uint64_t expected = static_cast<std::uint64_t>(shape.elements()) * type.bytes;
  BELFRY_CHECK_AS(FileError, entry.size == expected,
                  "[tf_checkpoint] {}: expected {} bytes for {} {}, got {}. The index is damaged.", where, expected,
                  type.name, to_string(shape), entry.size);
  if (expected == 0) return {};
  const std::shared_ptr<MappedFile>& file = open(entry.file);
  const std::span<std::byte> all = file->writable_bytes();
  BELFRY_CHECK_AS(FileError, entry.offset <= all.size() && entry.size <= all.size() - entry.offset,
                  "[tf_checkpoint] {}: expected {} bytes at {} of '{}', got a file of {} bytes. It is cut short.",
                  where, entry.size, entry.offset, bundle_data_path(prefix_, entry.file, index_.files), all.size());
  const std::span<std::byte> bytes = all.subspan(entry.offset, entry.size);
  BELFRY_CHECK_AS(FileError, masked_crc32c(bytes) == entry.checksum,
                  "[tf_checkpoint] {}: expected bytes that match their checksum, got others in '{}'. The file is "
                  "damaged, or of another checkpoint.",
                  where, bundle_data_path(prefix_, entry.file, index_.files));
  return {bytes, file};
}

Array BundleData::array_of(const std::string& where, const BundleEntry& entry, const Piece& piece) {
  return array_of_tf_type(entry.type, Shape(entry.dims), piece.bytes, piece.file, "[tf_checkpoint] " + where);
}

// All slices are found and checked before memory is made for the whole.
Array BundleData::joined(const std::string& name, const std::string& where, const BundleEntry& whole) {
  const std::vector<BundleSlice> slices = resolved_slices(where, whole);
  std::vector<std::pair<const BundleEntry*, Piece>> parts;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto at = index_.entries.find(slice_key(name, whole.slices[i]));
    BELFRY_CHECK_AS(FileError, at != index_.entries.end(),
                    "[tf_checkpoint] {}: expected an entry for its slice {}, got none. The index is damaged.", where,
                    to_string(slices[i]));
    const BundleEntry& entry = at->second;
    const bool is_alike = entry.type == whole.type && entry.slices.empty() && entry.dims.size() == whole.dims.size() &&
                          Shape(entry.dims) == shape_of(slices[i]);
    BELFRY_CHECK_AS(
        FileError, is_alike,
        "[tf_checkpoint] {}: expected its slice {} to be {} of this shape, got something else. The index is "
        "damaged.",
        where, to_string(slices[i]), tf_type(whole.type).name);
    parts.emplace_back(&entry, piece(where, entry));
  }
  Array out(*tf_type(whole.type).dtype, Shape(whole.dims));
  for (std::size_t i = 0; i < slices.size(); ++i)
    copy_slice(out, slices[i], array_of(where, *parts[i].first, parts[i].second));
  return out;
}

}  // namespace belfry
