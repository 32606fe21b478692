// Arrays in NumPy's files, to exchange weights and data with Python: .npy (one array) and .npz (a zip of .npy files).
//
// Read: .npy versions 1 to 3; f4, f8, i4 and i8 of either byte order, u1 and b1, and, as the type after the arrow,
// f2 -> f32, i1, i2, u2 -> i32, u4, u8 -> i64; C and Fortran order (the latter is rearranged). Archives: entries stored
// or deflated, of any size (zip64). Written: what numpy.save, numpy.savez and numpy.savez_compressed write.
//
// Every length is checked before anything is allocated for it, and every checksum is verified; FileError on whatever
// does not add up. Memory for an array never exceeds what its bytes in the file can expand to (of a type that is not
// ours, those of both types).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

Array read_npy(const std::string& path);

// The entry "conv0/W.npy" becomes "conv0/W".
std::map<std::string, Array> read_npz(const std::string& path);
// Only these, all of which must be there; the others are not even unpacked.
std::map<std::string, Array> read_npz(const std::string& path, const std::vector<std::string>& names);

struct NpzOptions {
  bool deflate = false;  // smaller and slower
};

// Both write atomically (see AtomicFile). Equal content gives equal bytes.
void write_npy(const std::string& path, const Array& array);
void write_npz(const std::string& path, const std::map<std::string, Array>& arrays, NpzOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
