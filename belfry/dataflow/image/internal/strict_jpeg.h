#pragma once

#include <cstddef>
#include <span>

namespace belfry {

// Throws "[where] ..." if the bytes are a JPEG of which libjpeg says that something is wrong. Of other formats it knows
// nothing. An error, too, where Belfry was built without libjpeg.
void check_jpeg(const char* where, std::span<const std::byte> bytes);

}  // namespace belfry
