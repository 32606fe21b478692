#include "belfry/engine/cpu/matmul/gemm.h"

#include <gtest/gtest.h>

#include "belfry/engine/cpu/lanes/shares.h"
#include "tests/engine/kernel_testing.h"

namespace belfry {
namespace {

struct GemmSize {
  std::int64_t m, n, k;
};

// Whole and partial tiles, panels, blocks of k, of rows and of columns.
const GemmSize kGemmSizes[] = {{1, 1, 1},  {8, 48, 4},  {6, 16, 3},   {7, 15, 5},   {9, 17, 300},
                               {5, 33, 7}, {13, 65, 2}, {500, 20, 3}, {3, 1000, 4}, {17, 49, 513}};

// Integers, so that every sum is exact in any order.
std::vector<float> integers(std::int64_t n, int period) {
  std::vector<float> out(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(static_cast<int>(i % static_cast<std::size_t>(period)) - period / 2);
  return out;
}

void expect_product(const GemmSize& s, bool ta, bool tb, bool accumulate, Isa isa) {
  const std::int64_t gap = 3;  // rows are further apart than they are long
  const std::int64_t a_row = (ta ? s.m : s.k) + gap, b_row = (tb ? s.k : s.n) + gap, y_row = s.n + gap;
  const auto a = integers(a_row * (ta ? s.k : s.m), 7), b = integers(b_row * (tb ? s.n : s.k), 5);
  const auto before = integers(y_row * s.m, 11);
  std::vector<float> y = before, bias = integers(s.n, 3);
  std::vector<std::byte> scratch(gemm_scratch_bytes(s.m, s.n, s.k, ta, isa) + 64);
  void* aligned = scratch.data();
  std::size_t room = scratch.size();
  std::align(64, 1, aligned, room);
  gemm({.m = s.m,
        .n = s.n,
        .k = s.k,
        .a = {.data = a.data(), .row = a_row, .transposed = ta},
        .b = {.data = b.data(), .row = b_row, .transposed = tb},
        .y = y.data(),
        .y_row = y_row,
        .start = accumulate ? y.data() : bias.data(),
        .start_row = accumulate ? y_row : 0},
       aligned, isa);
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < y_row; ++j) {
      const auto at = static_cast<std::size_t>(i * y_row + j);
      float wanted = j >= s.n || accumulate ? before[at] : bias[static_cast<std::size_t>(j)];
      for (std::int64_t p = 0; p < s.k && j < s.n; ++p)
        wanted += a[static_cast<std::size_t>(ta ? p * a_row + i : i * a_row + p)] *
                  b[static_cast<std::size_t>(tb ? j * b_row + p : p * b_row + j)];
      ASSERT_EQ(y[at], wanted) << s.m << "x" << s.n << "x" << s.k << " " << ta << tb << " at " << i << ", " << j;
    }
}

TEST(Gemm, AgreesWithThreeLoopsAtEveryKindOfBorder) {
  for (Isa isa : available_isas())
    for (const GemmSize& s : kGemmSizes)
      for (int flags = 0; flags < 8; ++flags)
        expect_product(s, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, isa);
}

TEST(Gemm, ARowHasTheSameBitsAloneAndAmongOthers) {
  const std::int64_t m = 23, n = 70, k = 300;
  const auto a = random_values(m * k, 1), b = random_values(k * n, 2);
  for (Isa isa : available_isas()) {
    std::vector<std::byte> scratch(gemm_scratch_bytes(m, n, k, false, isa));
    std::vector<float> all(static_cast<std::size_t>(m * n)), alone = all;
    gemm({m, n, k, {a.data(), k}, {b.data(), n}, all.data(), n}, scratch.data(), isa);
    for (std::int64_t i = 0; i < m; ++i)
      gemm({1, n, k, {a.data() + i * k, k}, {b.data(), n}, alone.data() + i * n, n}, scratch.data(), isa);
    EXPECT_TRUE(same_bits(all, alone));
  }
}

TEST(Shares, CoverTheRangeOnceAndNeverShareScratch) {
  for (int threads : {1, 2, 3}) {
    const TeamScope team(threads);
    std::vector<int> seen(100, 0), shares(3, 0);
    for_each_share(100, 10, shares.data(), sizeof(int), [&](std::int64_t begin, std::int64_t end, void* own) {
      ++*static_cast<int*>(own);
      for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    EXPECT_EQ(seen, std::vector<int>(100, 1));
    for (int t = 0; t < 3; ++t) EXPECT_EQ(shares[static_cast<std::size_t>(t)], t < threads ? 1 : 0);
  }
}

}  // namespace
}  // namespace belfry
