// Named arrays in one safetensors file: what checkpoints and exported models are made of.
//
//   8 bytes   length n of the header, little-endian
//   n bytes   JSON: {"__metadata__": {"key": "text"}, "conv0/W": {"dtype": "F32", "shape": [3, 3, 1, 32],
//             "data_offsets": [0, 1152]}, ...}, padded with spaces so that the data start at a multiple of 64
//   the rest  the arrays' bytes, little-endian, without holes; wide types first, so that all are aligned
//
// dtypes: F32, F64, I32, I64, U8, BOOL. Also read, as the type after the arrow, which holds all of their values: F16,
// BF16, F8_E4M3, F8_E5M2 -> f32; I8, I16, U16 -> i32; U32, U64 -> i64 (a number from 2^63 on is an error).
//
// The metadata "belfry_checksums" hold a CRC-32C of the header and one of each tensor's data, so that a single flipped
// bit anywhere in the file is found. Other programs see one more text there. A file without them, from another program
// or an older version, is read all the same.
#pragma once

#include <map>
#include <string>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

struct SafetensorsFile {
  std::map<std::string, Array> tensors;
  std::map<std::string, std::string> metadata;  // without the checksums
};

// Writes atomically (see AtomicFile): after an error, whatever was at `path` is still there. Equal content gives equal
// bytes. Names and metadata must be UTF-8, no tensor may be called "__metadata__" and no metadata "belfry_checksums".
void write_safetensors(const std::string& path, const std::map<std::string, Array>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

// Reads the whole file and checks all of it, data too, before returning anything; throws FileError if anything is
// inconsistent. The arrays share one block of memory, which lives as long as one of them (except arrays that the file
// holds misaligned or in a type that is not ours, which have their own). They are aligned to their element, not to 64
// bytes.
SafetensorsFile read_safetensors(const std::string& path);

struct StoredTensor {
  DType dtype = DType::f32;  // as it is read
  Shape shape;
};

struct SafetensorsListing {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
  bool has_checksums = false;
};

// Reads and checks only the header: as quick for a large file as for a small one.
SafetensorsListing list_safetensors(const std::string& path);

}  // namespace belfry
#pragma GCC visibility pop
