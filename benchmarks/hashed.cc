#include "benchmarks/hashed.h"

namespace belfry::bench {

std::uint32_t hashed(std::uint32_t stream, std::uint32_t index) {
  std::uint32_t x = index * 2654435761u + stream * 0x9E3779B9u + 0x7F4A7C15u;
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  x ^= x >> 13;
  x *= 0xC2B2AE35u;
  return x ^ (x >> 16);
}

double hashed_unit(std::uint32_t stream, std::uint32_t index) {
  return static_cast<double>(hashed(stream, index) >> 8) / 8388608.0 - 1.0;
}

Array hashed_images(int batch, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  Array out(f32, {n, h, w, c});
  float* to = out.values<float>().data();
  const auto stream = static_cast<std::uint32_t>(1000 + batch);
  for (std::int64_t in = 0; in < n; ++in)
    for (std::int64_t y = 0; y < h; ++y)
      for (std::int64_t x = 0; x < w; ++x)
        for (std::int64_t ic = 0; ic < c; ++ic)
          *to++ = static_cast<float>(hashed_unit(stream, static_cast<std::uint32_t>(((in * c + ic) * h + y) * w + x)));
  return out;
}

Array hashed_rows(int batch, std::int64_t n, std::int64_t features) {
  return hashed_images(batch, n, 1, 1, features).reshaped({n, features});
}

Array hashed_labels(int batch, std::int64_t n, int classes) {
  Array out(i32, {n});
  const auto stream = static_cast<std::uint32_t>(2000 + batch);
  for (std::int64_t i = 0; i < n; ++i)
    out.values<std::int32_t>()[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(hashed(stream, static_cast<std::uint32_t>(i)) % static_cast<std::uint32_t>(classes));
  return out;
}

}  // namespace belfry::bench
