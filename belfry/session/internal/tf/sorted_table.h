// A file of keys and values in alphabetical order, as LevelDB lays it out: what TensorFlow's ".index" files are.
//
//   data blocks, a block about them, the index block, the footer
//   block    entries; u32 places where keys are whole, u32 how many; then 1 byte: packed with snappy or not; u32 masked
//            crc32c of all before it
//   entry    varints: bytes that the key shares with the key before, further bytes of the key, bytes of the value;
//            these bytes
//   footer   varints: offset and size of the block about blocks, and of the index block; filled up to 40 bytes; 8 bytes
//            that are the same in every table
//
// The values of the index block are the offsets and sizes of the data blocks.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "belfry/base/function_ref.h"

namespace belfry {

// Whether the file ends as a table does.
bool is_sorted_table(std::span<const std::byte> file);

// Calls `each` with every key and its value, in order. Keys are in strictly increasing order, blocks lie one behind the
// other, every checksum is right; whatever else is found is a FileError, with `path` in its text.
void read_sorted_table(std::span<const std::byte> file, const std::string& path,
                       FunctionRef<void(std::string_view key, std::string_view value)> each);

}  // namespace belfry
