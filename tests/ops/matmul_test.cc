#include "belfry/ops/matmul.h"

#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool rows[] = {
    gradient_row("MatMul", {"MatMul"}, [](X x) { return matmul(x[0], x[1]); },
                 {{{2, 3}, {3, 4}}, {{1, 1}, {1, 1}}, {{0, 3}, {3, 4}}, {{2, 0}, {0, 4}}, {{2, 3}, {3, 0}}}),
    gradient_row("MatMulTransposeA", {"MatMul"}, [](X x) { return matmul(x[0], x[1], {.transpose_a = true}); },
                 {{{3, 2}, {3, 4}}, {{0, 2}, {0, 4}}}),
    gradient_row("MatMulTransposeB", {"MatMul"}, [](X x) { return matmul(x[0], x[1], {.transpose_b = true}); },
                 {{{2, 3}, {4, 3}}, {{2, 3}, {0, 3}}}),
    gradient_row("MatMulTransposeBoth", {"MatMul"},
                 [](X x) { return matmul(x[0], x[1], {.transpose_a = true, .transpose_b = true}); },
                 {{{3, 2}, {4, 3}}, {{3, 0}, {4, 3}}}),
};

class MatMulTest : public OpTest {};

TEST_F(MatMulTest, AgreesWithThreeLoopsAcrossTileBorders) {
  constexpr std::int64_t m = 67, n = 70, k = 131;
  for (const DType dtype : {f32, f64})
    for (int flags = 0; flags < 4; ++flags) {
      const bool ta = (flags & 1) != 0, tb = (flags & 2) != 0;
      Array a(dtype, ta ? Shape{k, m} : Shape{m, k}), b(dtype, tb ? Shape{n, k} : Shape{k, n});
      // Small integers: every sum is exact in f32.
      for (std::int64_t i = 0; i < a.elements(); ++i) a.set_item(i, static_cast<double>(i % 13 - 6));
      for (std::int64_t i = 0; i < b.elements(); ++i) b.set_item(i, static_cast<double>(i % 11 - 5));
      const Array y = run(matmul(input(a), input(b), {.transpose_a = ta, .transpose_b = tb}));
      ASSERT_EQ(y.shape(), Shape({m, n}));
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t p = 0; p < k; ++p)
            sum += a.item(ta ? p * m + i : i * k + p) * b.item(tb ? j * k + p : p * n + j);
          ASSERT_EQ(y.item(i * n + j), sum) << "transpose " << ta << tb << " at " << i << ", " << j;
        }
    }
}

TEST_F(MatMulTest, AnEmptyInnerDimensionGivesZeros) {
  EXPECT_EQ(floats(matmul(input(Array(f32, {2, 0})), input(Array(f32, {0, 2})))), (std::vector<float>{0, 0, 0, 0}));
}

TEST_F(MatMulTest, UnknownDimensionsPassThrough) {
  const Tensor a = placeholder(f32, {kAny, 3}), b = placeholder(f32, {kAny, kAny});
  EXPECT_EQ(matmul(a, b).shape(), Shape({kAny, kAny}));
  EXPECT_EQ(matmul(a, placeholder(f32, {3, 5})).shape(), Shape({kAny, 5}));
}

TEST_F(MatMulTest, MistakesNameTheShapesAndTheRemedy) {
  const Tensor a = placeholder(f32, {kAny, 3}, "a"), image = placeholder(f32, {kAny, 4, 4, 1}, "image");
  std::string text = error_of([&] { matmul(a, placeholder(f32, {4, 2}, "b"), "product"); });
  EXPECT_NE(text.find("[MatMul 'product'] expected inner dimensions that agree, got 3 of [?, 3] and 4 of [4, 2]. Use "
                      ".transpose_a or .transpose_b, or reshape() one"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("(made at matmul_test.cc:"), std::string::npos) << text;
  text = error_of([&] { matmul(a, placeholder(f32, {4, 2}), {.transpose_b = true}); });
  EXPECT_NE(text.find("got 3 of [?, 3] and 2 of [4, 2] transposed"), std::string::npos) << text;
  text = error_of([&] { matmul(image, a); });
  EXPECT_NE(text.find("expected two matrices, got [?, 4, 4, 1] and [?, 3]. Use reshape() or batch_flatten()"),
            std::string::npos)
      << text;
  text = error_of([&] { matmul(a, placeholder(f64, {3, 2})); });
  EXPECT_NE(text.find("expected matrices of one float type, got f32 and f64. Use cast()"), std::string::npos) << text;
}

}  // namespace
}  // namespace belfry
