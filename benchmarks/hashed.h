// The suite's deterministic data: a 32-bit integer hash decides every parameter, input and label, so that any framework
// can make the same ones.
//   h(s, i): x = i*2654435761 + s*0x9E3779B9 + 0x7F4A7C15 (mod 2^32), then murmur3's finaliser
//   u(s, i) = (h >> 8) / 2^23 - 1, in [-1, 1)
#pragma once

#include <cstdint>

#include "belfry/array/array.h"

namespace belfry::bench {

std::uint32_t hashed(std::uint32_t stream, std::uint32_t index);
double hashed_unit(std::uint32_t stream, std::uint32_t index);

// Images [n, h, w, c] whose element order in the hash is [n, c, h, w], as the suite defines them.
Array hashed_images(int batch, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w);
Array hashed_rows(int batch, std::int64_t n, std::int64_t features);
Array hashed_labels(int batch, std::int64_t n, int classes);

}  // namespace belfry::bench
