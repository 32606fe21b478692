#include "belfry/engine/cpu/optimizer/update_norms_team.h"

#include <algorithm>
#include <type_traits>

#include "belfry/base/parallel.h"

namespace belfry {
namespace {

constexpr std::int64_t kBlock = 16384;  // weights of a block: enough to make a thread worth waking

std::int64_t blocks_in(std::int64_t n, std::int64_t size) { return (n + size - 1) / size; }
std::int64_t rows_of_block(std::int64_t width) {
  return std::max<std::int64_t>(1, kBlock / std::max<std::int64_t>(1, width));
}

template <class T>
auto kernel_of(Isa isa) {
  const simd::UpdateNormKernels& table = by_isa(isa, avx2::kUpdateNorms, avx512::kUpdateNorms);
  if constexpr (std::is_same_v<T, float>)
    return table.norms;
  else
    return table.norms_f64;
}

UpdateNorms operator+(const UpdateNorms& a, const UpdateNorms& b) {
  return {a.weights + b.weights, a.direction + b.direction};
}

// of_block(begin, end) for blocks of `size` out of n.
template <class OfBlock>
UpdateNorms sum_of_blocks(std::int64_t n, std::int64_t size, void* scratch, OfBlock of_block) {
  auto* sums = static_cast<UpdateNorms*>(scratch);
  const std::int64_t blocks = blocks_in(n, size);
  parallel_for(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sums[i] = of_block(i * size, std::min(n, (i + 1) * size));
  });
  UpdateNorms out;
  for (std::int64_t i = 0; i < blocks; ++i) out = out + sums[i];
  return out;
}

}  // namespace

std::size_t norm_scratch_bytes(std::int64_t n) {
  return static_cast<std::size_t>(blocks_in(n, kBlock)) * sizeof(UpdateNorms);
}

std::size_t norm_scratch_bytes(std::int64_t rows, std::int64_t width) {
  return static_cast<std::size_t>(blocks_in(rows, rows_of_block(width))) * sizeof(UpdateNorms);
}

template <class T>
UpdateNorms update_norms(const UpdateStep& step, const UpdateBuffers<T>& buffers, std::int64_t n, void* scratch,
                         Isa isa) {
  return sum_of_blocks(n, kBlock, scratch, [&, norms = kernel_of<T>(isa)](std::int64_t begin, std::int64_t end) {
    return norms(step, buffers, begin, end);
  });
}

template <class T>
UpdateNorms update_norms(const UpdateStep& step, const UpdateBuffers<T>& buffers, const UpdatedRows& rows,
                         void* scratch, Isa isa) {
  const auto norms = kernel_of<T>(isa);
  return sum_of_blocks(rows.count, rows_of_block(rows.width), scratch, [&](std::int64_t begin, std::int64_t end) {
    UpdateNorms out;
    for (std::int64_t k = begin; k < end; ++k) out = out + norms(step, at_row(buffers, rows, k), 0, rows.width);
    return out;
  });
}

template UpdateNorms update_norms(const UpdateStep&, const UpdateBuffers<float>&, std::int64_t, void*, Isa);
template UpdateNorms update_norms(const UpdateStep&, const UpdateBuffers<double>&, std::int64_t, void*, Isa);
template UpdateNorms update_norms(const UpdateStep&, const UpdateBuffers<float>&, const UpdatedRows&, void*, Isa);
template UpdateNorms update_norms(const UpdateStep&, const UpdateBuffers<double>&, const UpdatedRows&, void*, Isa);

}  // namespace belfry
