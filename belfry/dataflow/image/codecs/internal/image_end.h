// Whether an image file is all there. JPEG's decoders fill what it lacks with grey or with the last row, and say
// nothing; PNG's print a line of their own.
#pragma once

#include <cstddef>
#include <span>

namespace belfry {

// Whether a file begins as a JPEG or a PNG does.
bool is_jpeg(std::span<const std::byte> bytes);
bool is_png(std::span<const std::byte> bytes);
// Of such a file: whether it ends before its end marker. What lies behind that does not matter, and what lies between
// is the decoder's to check.
bool is_cut_jpeg(std::span<const std::byte> bytes);
bool is_cut_png(std::span<const std::byte> bytes);

}  // namespace belfry
