// Optimizer updates of some rows of a table, on the team's threads. The bits do not depend on the number of threads.
#pragma once

#include "belfry/engine/cpu/optimizer/optimizer_team.h"

namespace belfry {

struct UpdatedRows {
  const void* ids = nullptr;  // [count], each once; i32, or i64 if wide
  bool wide = false;
  std::int64_t count = 0, width = 0;

  std::int64_t id(std::int64_t k) const {
    return wide ? static_cast<const std::int64_t*>(ids)[k] : static_cast<const std::int32_t*>(ids)[k];
  }
};

// Row k of buffers.gradient updates row id(k) of the weights and slots.
void apply_update(const UpdateStep& step, const UpdateBuffers<float>& buffers, const UpdatedRows& rows,
                  Isa isa = cpu_isa());
void apply_update(const UpdateStep& step, const UpdateBuffers<double>& buffers, const UpdatedRows& rows,
                  Isa isa = cpu_isa());

// The operands of row k alone.
template <class T>
UpdateBuffers<T> at_row(const UpdateBuffers<T>& buffers, const UpdatedRows& rows, std::int64_t k) {
  const std::int64_t offset = rows.id(k) * rows.width;
  UpdateBuffers<T> out{.weights = buffers.weights + offset, .gradient = buffers.gradient + k * rows.width};
  for (int i = 0; i < simd::kMostSlots && buffers.slots[i] != nullptr; ++i) out.slots[i] = buffers.slots[i] + offset;
  return out;
}

}  // namespace belfry
