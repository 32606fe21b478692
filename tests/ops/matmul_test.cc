#include "belfry/ops/matmul.h"

#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool matmul_rows[] = {
    gradient_row("MatMul", {"MatMul"}, [](X x) { return matmul(x[0], x[1]); },
                 {{{2, 3}, {3, 4}}, {{1, 1}, {1, 1}}, {{0, 3}, {3, 4}}, {{2, 0}, {0, 4}}, {{2, 3}, {3, 0}}}),
    gradient_row("MatMulTransposeA", {"MatMul"}, [](X x) { return matmul(x[0], x[1], {.transpose_a = true}); },
                 {{{3, 2}, {3, 4}}, {{0, 2}, {0, 4}}}),
    gradient_row("MatMulTransposeB", {"MatMul"}, [](X x) { return matmul(x[0], x[1], {.transpose_b = true}); },
                 {{{2, 3}, {4, 3}}, {{2, 3}, {0, 3}}}),
    gradient_row("MatMulTransposeBoth", {"MatMul"},
                 [](X x) { return matmul(x[0], x[1], {.transpose_a = true, .transpose_b = true}); },
                 {{{3, 2}, {4, 3}}, {{3, 0}, {4, 3}}}),
    gradient_row("BatchedMatMul", {"MatMul", "SumToLike"}, [](X x) { return matmul(x[0], x[1]); },
                 {{{2, 2, 3}, {2, 3, 2}},
                  {{2, 1, 2, 3}, {3, 3, 2}},
                  {{3, 2}, {2, 2, 3}},
                  {{0, 2, 3}, {0, 3, 2}},
                  {{2, 2, 0}, {2, 0, 2}}}),
    gradient_row("BatchedMatMulTransposeA", {"MatMul"}, [](X x) { return matmul(x[0], x[1], {.transpose_a = true}); },
                 {{{2, 3, 2}, {2, 3, 2}}, {{2, 3, 2}, {3, 2}}}),
    gradient_row("BatchedMatMulTransposeB", {"MatMul"}, [](X x) { return matmul(x[0], x[1], {.transpose_b = true}); },
                 {{{2, 2, 3}, {2, 2, 3}}, {{2, 2, 3}, {2, 3}}}),
    gradient_row("BatchedMatMulTransposeBoth", {"MatMul"},
                 [](X x) { return matmul(x[0], x[1], {.transpose_a = true, .transpose_b = true}); },
                 {{{2, 3, 2}, {1, 2, 3}}, {{2, 3, 2}, {2, 3}}}),
    gradient_row("BatchTimesOneMatrix", {"MatMul", "FlattenRows"}, [](X x) { return matmul(x[0], x[1]); },
                 {{{2, 2, 3}, {3, 2}}, {{1, 2, 2, 1}, {1, 3}}, {{0, 2, 3}, {3, 2}}, {{2, 2, 0}, {0, 2}}}),
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

// y[batch][i][j] by definition, for operands whose batches are those of y, or of one matrix.
void expect_products(const Array& a, const Array& b, const Array& y, bool ta, bool tb) {
  const std::int64_t m = y.shape()[-2], n = y.shape()[-1], k = a.shape()[ta ? -2 : -1];
  for (std::int64_t at = 0; at < y.elements(); ++at) {
    const std::int64_t item = at / (m * n), i = at / n % m, j = at % n;
    const std::int64_t a_from = a.elements() == m * k ? 0 : item * m * k,
                       b_from = b.elements() == k * n ? 0 : item * k * n;
    double sum = 0;
    for (std::int64_t p = 0; p < k; ++p)
      sum += a.item(a_from + (ta ? p * m + i : i * k + p)) * b.item(b_from + (tb ? j * k + p : p * n + j));
    ASSERT_EQ(y.item(at), sum) << "transpose " << ta << tb << ", item " << item << " at " << i << ", " << j;
  }
}

TEST_F(MatMulTest, BatchesAgreeWithTheDefinitionWhateverIsTransposed) {
  const auto small = [](DType dtype, const Shape& shape, int period) {
    Array out(dtype, shape);
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, static_cast<double>(i % period - period / 2));
    return out;
  };
  constexpr std::int64_t m = 19, n = 53, k = 21;
  for (const DType dtype : {f32, f64})
    for (int flags = 0; flags < 16; ++flags) {
      const bool ta = (flags & 1) != 0, tb = (flags & 2) != 0, one_a = (flags & 4) != 0, one_b = (flags & 8) != 0;
      const Shape a_matrix = ta ? Shape{k, m} : Shape{m, k}, b_matrix = tb ? Shape{n, k} : Shape{k, n};
      const Array a = small(dtype, one_a ? a_matrix : Shape{2, 3, a_matrix[0], a_matrix[1]}, 13);
      const Array b = small(dtype, one_b ? b_matrix : Shape{2, 3, b_matrix[0], b_matrix[1]}, 11);
      const Array y = run(matmul(input(a), input(b), {.transpose_a = ta, .transpose_b = tb}));
      ASSERT_EQ(y.shape(), one_a && one_b ? Shape({m, n}) : Shape({2, 3, m, n}));
      expect_products(a, b, y, ta, tb);
    }
}

// By whichever code: the choice depends on the instruction set and on whether a batch is broadcast.
TEST_F(MatMulTest, BatchesOfRowsColumnsAndNumbersAgreeWithTheDefinition) {
  constexpr std::int64_t sizes[][3]{{1, 1, 1}, {1, 40, 7}, {40, 1, 7}, {40, 17, 1}, {1, 1, 40}, {70, 130, 3}};
  for (const auto& [m, n, k] : sizes)
    for (int flags = 0; flags < 4; ++flags) {
      const bool ta = (flags & 1) != 0, tb = (flags & 2) != 0;
      const Array a = counting(ta ? Shape{5, k, m} : Shape{5, m, k}),
                  b = counting(tb ? Shape{5, n, k} : Shape{5, k, n});
      expect_products(a, b, run(matmul(input(a), input(b), {.transpose_a = ta, .transpose_b = tb})), ta, tb);
    }
}

TEST_F(MatMulTest, BatchesBroadcast) {
  // [2, 1] x [1, 3] batches of 1x1 matrices: an outer product.
  const Tensor a = input(Array::of<float>({2, 1, 1, 1}, {2, 3})), b = input(Array::of<float>({3, 1, 1}, {5, 7, 11}));
  const Tensor y = matmul(a, b);
  EXPECT_EQ(y.shape(), Shape({2, 3, 1, 1}));
  EXPECT_EQ(floats(y), (std::vector<float>{10, 14, 22, 15, 21, 33}));
}

TEST_F(MatMulTest, FlattenRowsKeepsTheLastAxis) {
  EXPECT_EQ(flatten_rows(placeholder(f32, {4, kAny, 3})).shape(), Shape({kAny, 3}));
  EXPECT_EQ(run(flatten_rows(input(counting({2, 3, 4})))).shape(), Shape({6, 4}));
  EXPECT_EQ(run(flatten_rows(input(counting({4})))).shape(), Shape({1, 4}));
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
  const Tensor a = placeholder(f32, {kAny, 3}, "a"), vector = placeholder(f32, {3}, "vector");
  std::string text = error_of([&] { matmul(a, placeholder(f32, {4, 2}, "b"), "product"); });
  EXPECT_NE(text.find("[MatMul 'product'] expected inner dimensions that agree, got 3 of [?, 3] and 4 of [4, 2]. Use "
                      ".transpose_a or .transpose_b, or reshape() one"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("(made at matmul_test.cc:"), std::string::npos) << text;
  text = error_of([&] { matmul(a, placeholder(f32, {4, 2}), {.transpose_b = true}); });
  EXPECT_NE(text.find("got 3 of [?, 3] and 2 of [4, 2] transposed"), std::string::npos) << text;
  text = error_of([&] { matmul(a, vector); });
  EXPECT_NE(text.find("expected two matrices or batches of them (rank 2 or more), got [?, 3] and [3]. Use reshape() or "
                      "expand_dims()"),
            std::string::npos)
      << text;
  text = error_of([&] { matmul(placeholder(f32, {2, 4, 3}), placeholder(f32, {5, 3, 4})); });
  EXPECT_NE(text.find("expected dimensions that are equal or 1, got [2] and [5]"), std::string::npos) << text;
  text = error_of([&] { flatten_rows(placeholder(f32, {})); });
  EXPECT_NE(text.find("expected a tensor with a last axis, got a scalar"), std::string::npos) << text;
  text = error_of([&] { matmul(a, placeholder(f64, {3, 2})); });
  EXPECT_NE(text.find("expected matrices of one float type, got f32 and f64. Use cast()"), std::string::npos) << text;
}

}  // namespace
}  // namespace belfry
