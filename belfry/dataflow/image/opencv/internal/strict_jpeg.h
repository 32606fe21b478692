#pragma once

#include <cstddef>
#include <span>

namespace belfry {

// Throws "[where] ..." if the bytes are a JPEG of which libjpeg says that something is wrong. Of other formats it knows
// nothing. An error, too, where Belfry was built without libjpeg.
void check_jpeg(const char* where, std::span<const std::byte> bytes);

// That error alone: it is the program's, and is to be told before an image is blamed for it.
void check_strict_is_built(const char* where);

}  // namespace belfry
