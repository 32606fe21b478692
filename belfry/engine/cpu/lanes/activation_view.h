// How kernels see an activation: data[outer][groups][rows][inner], channel = group * inner + lane. Lanes whose channel
// is not below `channels` are padding: zero when read, written as zero.
//
//   nChw16c: outer = N, groups = ceil(C / 16), rows = H * W, inner = 16
//   NHWC:    outer = N, groups = 1,            rows = H * W, inner = C
//   NCHW:    outer = N, groups = C,            rows = H * W, inner = 1
#pragma once

#include <cstdint>

namespace belfry {

struct ActivationView {
  std::int64_t outer = 0;
  std::int64_t groups = 0;
  std::int64_t rows = 0;
  std::int64_t inner = 0;
  std::int64_t channels = 0;

  std::int64_t slab() const { return rows * inner; }  // floats of one (outer, group)
  std::int64_t elements() const { return outer * groups * rows * inner; }
  std::int64_t padded_channels() const { return groups * inner; }
};

}  // namespace belfry
