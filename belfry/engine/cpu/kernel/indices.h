// Tensors of indices, i32 or i64. Internal to engine/cpu.
#pragma once

#include <algorithm>

#include "belfry/array/dtype.h"
#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/kernel/runtime_error.h"

namespace belfry {

// make.operator()<Index>() with the type of the indices.
template <class Make>
KernelPtr make_for_index(DType dtype, Make&& make) {
  return dtype == DType::i64 ? make.template operator()<std::int64_t>() : make.template operator()<std::int32_t>();
}

// The indices that an op was given, and their valid range.
struct IndexRange {
  Shape shape{};
  std::int64_t first = 0, end = 0;  // [first, end)
  const Node* origin = nullptr;

  template <class Index>
  void check(const Index* indices) const {
    const std::int64_t n = shape.elements();
    const Index* bad = std::find_if(indices, indices + n, [&](Index i) { return i < first || i >= end; });
    if (bad == indices + n) return;
    fail_numeric(origin, fmt::format("expected indices in [0, {}), got {} at {} of {}. Check the data and the size of "
                                     "the table.",
                                     end, *bad, index_text(shape, bad - indices), to_string(shape)));
  }
};

}  // namespace belfry
