// Optimizer updates of some rows of a table, on the team's threads. The bits do not depend on the number of threads.
#pragma once

#include "belfry/engine/cpu/kernels/optimizer.h"

namespace belfry {

struct UpdatedRows {
  const void* ids = nullptr;  // [count], each once; i32, or i64 if wide
  bool wide = false;
  std::int64_t count = 0, width = 0;
};

// Row k of buffers.gradient updates row ids[k] of the weights and slots.
void apply_update(const UpdateStep& step, const UpdateBuffers& buffers, const UpdatedRows& rows, Isa isa = cpu_isa());

}  // namespace belfry
