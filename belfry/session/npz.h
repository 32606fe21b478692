// Named arrays in a NumPy .npz file (a zip of .npy files), to exchange weights with Python.
//
// Read: stored and deflated entries; .npy versions 1 to 3; little-endian f4, f8, i4, i8, u1 and b1; C and Fortran
// order (the latter is rearranged). Written: what numpy.savez writes, stored. Archives and arrays stay below 4 GiB
// (no zip64): use safetensors beyond that.
#pragma once

#include <map>
#include <string>

#include "belfry/array/array.h"

namespace belfry {

// The entry "conv0/W.npy" becomes "conv0/W". Every length is checked before anything is allocated for it, and every
// checksum is verified; throws FileError on whatever does not add up. Memory for an array never exceeds what its
// bytes in the file can expand to.
std::map<std::string, Array> read_npz(const std::string& path);

// Writes atomically (see AtomicFile). Equal content gives equal bytes.
void write_npz(const std::string& path, const std::map<std::string, Array>& arrays);

}  // namespace belfry
