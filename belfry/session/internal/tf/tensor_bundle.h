// The index of a checkpoint of TensorFlow (its "tensor bundle", version 2): a sorted table from the names of tensors to
// where in the data files their bytes are. The messages, in protobuf's wire format:
//
//   the header, under ""   1 number of data files, 2 byte order (0 little), 3 {1 producer, 2 oldest reader} versions
//   an entry               1 type, 2 shape {2 axis {1 size}, 3 rank is unknown}, 3 data file, 4 offset, 5 size,
//                          6 masked crc32c of the bytes, 7 slice, repeated
//   a slice                1 extent of an axis, repeated: {1 start, 2 length}, empty for a whole axis
//
// A tensor that was saved in parts (a partitioned variable) has an entry with the slices and without data; each slice
// has an entry of its own, whose key is made of the name and the slice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace belfry {

struct BundleExtent {
  std::int64_t start = 0, length = -1;  // -1: the whole axis
};
using BundleSlice = std::vector<BundleExtent>;  // an extent an axis

struct BundleEntry {
  std::uint64_t type = 0;  // see tf_type()
  std::vector<std::int64_t> dims{};
  std::uint64_t file = 0, offset = 0, size = 0;
  std::uint32_t checksum = 0;
  std::vector<BundleSlice> slices{};
};

struct BundleIndex {
  std::uint64_t files = 0;  // data files; every entry's `file` is below it
  std::map<std::string, BundleEntry> entries{};
};

// Reads PREFIX.index. Sizes of axes are not negative, slices have as many axes as their tensor; nothing has been
// compared with the data files. Throws FileError.
BundleIndex read_bundle_index(const std::string& path);

// Where the index has the entry of a slice. Such keys begin with a byte 0, names do not.
std::string slice_key(const std::string& name, const BundleSlice& slice);
bool is_slice_key(const std::string& key);

}  // namespace belfry
