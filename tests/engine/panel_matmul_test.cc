#include <gtest/gtest.h>

#include <cmath>

#include "belfry/engine/cpu/recurrent/panel_matmul_simd.h"
#include "tests/engine/kernel_testing.h"

namespace belfry {
namespace {

const simd::PanelKernels& kernels(Isa isa) { return by_isa(isa, avx2::kPanels, avx512::kPanels); }

std::vector<float> product(Isa isa, const std::vector<float>& a, const std::vector<float>& b, std::vector<float> c,
                           std::int64_t rows, std::int64_t depth, std::int64_t columns, bool transposed) {
  // Poisoned: what is packed must be written.
  std::vector<float> packed(static_cast<std::size_t>(simd::packed_floats(depth, columns)), NAN);
  kernels(isa).pack(
      {.b = b.data(), .depth = depth, .columns = columns, .transposed = transposed, .packed = packed.data()});
  kernels(isa).multiply_add(
      {.a = a.data(), .packed = packed.data(), .c = c.data(), .rows = rows, .depth = depth, .columns = columns});
  return c;
}

// Every number of rows that a tile can have, columns around whole panels, depths around a slice.
TEST(PanelMatmul, IsAChainOfMultiplyAddsForEveryElementOnBothInstructionSets) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 25})
    for (const std::int64_t columns : {1, 7, 8, 9, 16, 17, 31, 32, 33, 47, 48, 64})
      for (const std::int64_t depth : {1, 5, 256, 300}) {
        const std::vector<float> a = random_values(rows * depth, 1), b = random_values(depth * columns, 2),
                                 c = random_values(rows * columns, 3);
        std::vector<float> turned(b.size()), expected = c;
        for (std::int64_t k = 0; k < depth; ++k)
          for (std::int64_t j = 0; j < columns; ++j)
            turned[static_cast<std::size_t>(j * depth + k)] = b[static_cast<std::size_t>(k * columns + j)];
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t j = 0; j < columns; ++j)
            for (std::int64_t k = 0; k < depth; ++k) {
              float& sum = expected[static_cast<std::size_t>(r * columns + j)];
              sum = std::fma(a[static_cast<std::size_t>(r * depth + k)], b[static_cast<std::size_t>(k * columns + j)],
                             sum);
            }
        for (const Isa isa : available_isas()) {
          ASSERT_TRUE(same_bits(product(isa, a, b, c, rows, depth, columns, false), expected))
              << rows << "x" << depth << "x" << columns << " " << name_of(isa);
          ASSERT_TRUE(same_bits(product(isa, a, turned, c, rows, depth, columns, true), expected))
              << rows << "x" << depth << "x" << columns << " transposed " << name_of(isa);
        }
      }
}

TEST(PanelMatmul, NothingInNothingOut) {
  const std::vector<float> c = random_values(6, 3);
  for (const Isa isa : available_isas()) {
    EXPECT_TRUE(same_bits(product(isa, {}, {}, c, 2, 0, 3, false), c));
    EXPECT_TRUE(product(isa, {}, random_values(12, 2), {}, 0, 4, 3, false).empty());
  }
}

}  // namespace
}  // namespace belfry
