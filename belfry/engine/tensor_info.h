// What is known of a tensor inside a run. Internal to engine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "belfry/array/dtype.h"
#include "belfry/array/shape.h"
#include "belfry/engine/layout.h"

namespace belfry {

struct TensorInfo {
  DType dtype = DType::f32;
  Shape shape{};  // concrete
  Layout layout{};
  std::int64_t elements() const { return shape.elements(); }
  std::size_t bytes() const {
    return layout.plain() ? static_cast<std::size_t>(shape.elements()) * size_of(dtype) : layout.form().bytes();
  }
};

}  // namespace belfry
