// A datapoint as bytes: what LMDB records, caches on disk and messages between processes hold. Nothing in it is ever
// executed, and every length is checked before memory is made or read.
//
//   "BDP1"  u32 components  then for each: u8 dtype  u8 rank  i64 dimensions[rank]  elements
//
// Numbers are little-endian, elements as they lie in memory. Nothing may follow the last component.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "belfry/dataflow/dataflow.h"

#pragma GCC visibility push(default)
namespace belfry {

std::size_t encoded_bytes(const DataPoint& point);
// Fills `to`, which has exactly encoded_bytes(point).
void encode_to(const DataPoint& point, std::span<std::byte> to);
std::string encode(const DataPoint& point);

// The point, in memory of its own. Throws FileError on anything but what encode_to() writes; `where` names whose bytes
// they are in its text: "lmdb train.lmdb, key '00000017'".
DataPoint decode(std::span<const std::byte> bytes, std::string_view where);
DataPoint decode(std::string_view bytes, std::string_view where);

}  // namespace belfry
#pragma GCC visibility pop
