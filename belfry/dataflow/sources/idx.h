// The idx format of the MNIST family: a type, a shape and the elements, big-endian.
#pragma once

#include <string>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

// Reads a whole idx file, plain or gzipped. Elements of type u8, i32, f32 and f64. The lengths it claims are checked
// before memory is made for them; a file that is missing, no idx file, too short or too long is a FileError.
Array read_idx(const std::string& path);

}  // namespace belfry
#pragma GCC visibility pop
