// The part of a row of windows or taps that lies on an image.
#pragma once

#include <cstdint>

#include "belfry/engine/cpu/vector/vec.h"

namespace belfry::BELFRY_ISA {
namespace {

struct Range {
  std::int64_t begin, end;
};

// The k of [0, count) with 0 <= start + k * step < size.
inline Range inside(std::int64_t start, std::int64_t step, std::int64_t count, std::int64_t size) {
  const std::int64_t begin = start < 0 ? (step - 1 - start) / step : 0;
  const std::int64_t room = start < size ? (size - 1 - start) / step + 1 : 0, end = room < count ? room : count;
  return {begin < end ? begin : end, end};
}

}  // namespace
}  // namespace belfry::BELFRY_ISA
