// Makes checkpoints of TensorFlow, right ones and wrong ones, without any of the reader's checks.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/internal/masked_crc32c.h"
#include "belfry/base/internal/protobuf_wire.h"

namespace belfry::testing_support {

inline void add_number(std::string& to, std::uint64_t field, std::uint64_t value) {
  add_varint(to, field << 3 | WireReader::kVarint);
  add_varint(to, value);
}

inline std::uint32_t tf_checksum(std::string_view bytes) { return masked_crc32c(std::as_bytes(std::span(bytes))); }

// A block as it lies in a file.
inline std::string tf_block(std::string content, char packing = '\0') {
  content += packing;
  append_little_endian<std::uint32_t>(content, tf_checksum(content));
  return content;
}

using TfEntries = std::vector<std::pair<std::string, std::string>>;  // key, value

// What a block with these entries holds. Keys share what they can.
inline std::string tf_entries(const TfEntries& entries) {
  std::string out, last;
  for (const auto& [key, value] : entries) {
    std::size_t shared = 0;
    while (shared < key.size() && shared < last.size() && key[shared] == last[shared]) ++shared;
    for (const std::size_t number : {shared, key.size() - shared, value.size()}) add_varint(out, number);
    out += key.substr(shared) + value;
    last = key;
  }
  append_little_endian<std::uint32_t>(out, 0);
  append_little_endian<std::uint32_t>(out, 1);
  return out;
}

inline std::string tf_handle(std::uint64_t offset, std::uint64_t size) {
  std::string out;
  add_varint(out, offset);
  add_varint(out, size);
  return out;
}

// A whole table, of one block whose content is given, unless there is another index block.
inline std::string tf_table(const std::string& content, char packing = '\0', std::string index = {}) {
  if (index.empty()) index = tf_entries({{"\xff", tf_handle(0, content.size())}});
  std::string out = tf_block(content, packing);
  const std::string about_blocks = tf_entries({});
  std::string footer = tf_handle(out.size(), about_blocks.size());
  out += tf_block(about_blocks);
  footer += tf_handle(out.size(), index.size());
  footer.resize(40);
  append_little_endian<std::uint64_t>(footer, 0xdb4775248b80fb57);
  return out + tf_block(index) + footer;
}

struct TfHeaderFields {
  std::uint64_t files = 1, byte_order = 0, oldest_reader = 0;
};
inline std::string tf_header(TfHeaderFields fields = {}) {
  std::string out, version;
  add_number(out, 1, fields.files);
  if (fields.byte_order != 0) add_number(out, 2, fields.byte_order);
  add_number(version, 1, 1);
  if (fields.oldest_reader != 0) add_number(version, 2, fields.oldest_reader);
  add_field(out, 3, version);
  return out;
}

struct TfExtent {
  std::int64_t start = 0, length = -1;  // -1: the whole axis
};
struct TfEntryFields {
  std::uint64_t type = 1;
  std::vector<std::int64_t> dims{};
  std::uint64_t file = 0, offset = 0, size = 0;
  std::uint32_t checksum = 0;
  std::vector<std::vector<TfExtent>> slices{};
};
inline std::string tf_entry(const TfEntryFields& fields) {
  std::string out, shape;
  add_number(out, 1, fields.type);
  for (const std::int64_t dim : fields.dims) {
    std::string axis;
    add_number(axis, 1, static_cast<std::uint64_t>(dim));
    add_field(shape, 2, axis);
  }
  add_field(out, 2, shape);
  add_number(out, 3, fields.file);
  add_number(out, 4, fields.offset);
  add_number(out, 5, fields.size);
  add_varint(out, 6 << 3 | WireReader::kFixed32);
  append_little_endian<std::uint32_t>(out, fields.checksum);
  for (const auto& extents : fields.slices) {
    std::string slice;
    for (const TfExtent& extent : extents) {
      std::string part;
      if (extent.start != 0) add_number(part, 1, static_cast<std::uint64_t>(extent.start));
      if (extent.length >= 0) add_number(part, 2, static_cast<std::uint64_t>(extent.length));
      add_field(slice, 1, part);
    }
    add_field(out, 7, slice);
  }
  return out;
}

}  // namespace belfry::testing_support
