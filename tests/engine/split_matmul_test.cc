#include "belfry/engine/cpu/matmul/split_matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "belfry/base/parallel.h"

namespace belfry {
namespace {

struct Case {
  MatMulShape shape;
  MatMulSplit split;
  MatMulEpilogue epilogue;
};

std::vector<float> pattern(std::int64_t n, int salt) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<float>((i * 7 + salt) % 13 - 6) * 0.125f);
  return out;
}

void check(const Case& c, int threads) {
  const MatMulShape& s = c.shape;
  const std::vector<float> a = pattern(s.m * s.k, 1), b = pattern(s.k * s.n, 2), bias = pattern(s.n, 3);
  std::vector<float> y(static_cast<std::size_t>(s.m * s.n), NAN);
  const TeamScope team(threads);
  const KernelPtr kernel = make_split_matmul(s, c.split, threads, c.epilogue);
  std::vector<char> scratch(kernel->scratch_bytes() + 64);
  void* aligned = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64);
  kernel->bind({.inputs = {a.data(), b.data(), bias.data()}, .outputs = {y.data()}, .scratch = aligned});
  kernel->run({});
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = c.epilogue.bias ? static_cast<double>(bias[static_cast<std::size_t>(j)]) : 0;
      for (std::int64_t p = 0; p < s.k; ++p)
        sum += static_cast<double>(a[static_cast<std::size_t>(s.transpose_a ? p * s.m + i : i * s.k + p)]) *
               static_cast<double>(b[static_cast<std::size_t>(p * s.n + j)]);
      if (c.epilogue.relu) sum = std::max(sum, 0.0);
      ASSERT_NEAR(y[static_cast<std::size_t>(i * s.n + j)], sum, 1e-3) << "row " << i << ", column " << j;
    }
}

TEST(SplitMatMul, BothCutsGiveTheProductWithItsEpilogue) {
  for (int threads : {1, 2, 3})
    for (bool epilogue : {false, true}) {
      const MatMulEpilogue e{.bias = epilogue, .relu = epilogue};
      check({{.m = 5, .n = 17, .k = 301}, MatMulSplit::depth, e}, threads);
      check({{.m = 301, .n = 17, .k = 5, .transpose_a = true}, MatMulSplit::rows, e}, threads);
    }
}

TEST(SplitMatMul, TheChoiceIsARuleOfShapeAndThreads) {
  EXPECT_EQ(choose_split({.m = 32, .n = 128, .k = 784}, 1), MatMulSplit::none);
  EXPECT_EQ(choose_split({.m = 32, .n = 128, .k = 784}, 2), MatMulSplit::depth);
  EXPECT_EQ(choose_split({.m = 784, .n = 128, .k = 32, .transpose_a = true}, 2), MatMulSplit::rows);
  EXPECT_EQ(choose_split({.m = 128, .n = 512, .k = 1568}, 2), MatMulSplit::none);
}

}  // namespace
}  // namespace belfry
