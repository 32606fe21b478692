// Whether a JPEG is all there. Decoders fill what it lacks with grey or with the last row, and say nothing.
#pragma once

#include <cstddef>
#include <span>

namespace belfry {

// Of a file that begins as a JPEG does: whether it ends before its end marker. What lies behind that does not matter.
bool is_truncated_jpeg(std::span<const std::byte> bytes);

}  // namespace belfry
