// The texts of errors caused by values while a step runs. Internal to engine/cpu.
#pragma once

#include <fmt/core.h>

#include <string>

#include "belfry/array/shape.h"
#include "belfry/base/error.h"
#include "belfry/graph/node.h"

namespace belfry {

// "[op 'name'] text (made at file:line)". `origin` may be null for kernels run without a graph.
[[noreturn]] inline void fail_numeric(const Node* origin, const std::string& text) {
  if (origin == nullptr) throw NumericError(text);
  throw NumericError(fmt::format("{} {} {}", describe(*origin), text, made_at(*origin)));
}

// The index of the element at `offset` of a row-major tensor: "[2, 0, 5]".
inline std::string index_text(const Shape& shape, std::int64_t offset) {
  Shape index = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index.set(axis, offset % shape[axis]);
    offset /= shape[axis];
  }
  return to_string(index);
}

}  // namespace belfry
