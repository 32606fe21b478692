// A dense tensor as [outer, size, inner] around one axis: what ops that work along an axis loop over. Internal to
// engine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "belfry/array/shape.h"
#include "belfry/base/parallel.h"

namespace belfry {

struct AxisLines {
  AxisLines(const Shape& shape, std::int64_t at) {
    const int axis = static_cast<int>(at < 0 ? at + shape.rank() : at);
    outer = shape.slice(0, axis).elements();
    size = shape[axis];
    inner = shape.slice(axis + 1, shape.rank()).elements();
  }

  std::int64_t lines() const { return outer * inner; }
  // Element k of a line is at start(line) + k * inner.
  std::int64_t start(std::int64_t line) const { return line / inner * size * inner + line % inner; }

  // body(first line, number of lines) for runs of at most `most` lines that lie side by side.
  template <class Body>
  void for_each_run(std::int64_t most, std::int64_t grain, Body&& body) const {
    if (inner == 0) return;
    const std::int64_t runs = (inner + most - 1) / most, work = std::max<std::int64_t>(size * std::min(most, inner), 1);
    parallel_for(outer * runs, std::max<std::int64_t>(grain / work, 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t column = i % runs * most;
        body(i / runs * inner + column, std::min(most, inner - column));
      }
    });
  }

  std::int64_t outer = 1, size = 1, inner = 1;
};

}  // namespace belfry
