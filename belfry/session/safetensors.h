// Named arrays in one safetensors file: what checkpoints and exported models are made of.
//
//   8 bytes   length n of the header, little-endian
//   n bytes   JSON: {"__metadata__": {"key": "text"}, "conv0/W": {"dtype": "F32", "shape": [3, 3, 1, 32],
//             "data_offsets": [0, 1152]}, ...}, padded with spaces so that the data start at a multiple of 64
//   the rest  the arrays' bytes, little-endian, without holes; wide types first, so that all are aligned
//
// dtypes: F32, F64, I32, I64, U8, BOOL.
#pragma once

#include <map>
#include <string>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

struct SafetensorsFile {
  std::map<std::string, Array> tensors;
  std::map<std::string, std::string> metadata;
};

// Writes atomically (see AtomicFile): after an error, whatever was at `path` is still there. Equal content gives equal
// bytes. Names and metadata must be UTF-8, and no tensor may be called "__metadata__".
void write_safetensors(const std::string& path, const std::map<std::string, Array>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

// Maps the file and checks all of its header before using any of it; throws FileError if anything is inconsistent. The
// arrays share the mapping and keep it alive: nothing is copied (except arrays that the file holds misaligned), pages
// are read when they are touched, and writing to an array changes memory only. Arrays are aligned to their element, not
// to 64 bytes. The file must not be changed in place while they live; replacing it is fine.
SafetensorsFile read_safetensors(const std::string& path);

}  // namespace belfry
#pragma GCC visibility pop
