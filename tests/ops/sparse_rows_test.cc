#include "belfry/ops/sparse_rows.h"

#include "belfry/graph/gradients.h"
#include "belfry/ops/gather.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using Wide = std::vector<std::int64_t>;
using X = const Tensors&;

Tensor ids(std::initializer_list<std::int64_t> values) {
  return constant(Array::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

const bool sparse_rows_rows[] = {
    // Padding passes nothing either way.
    gradient_row("SumRows", {"SumRows"},
                 [](X x) { return sum_rows(ids({4, -1, 1, 4}), x[0], fill({5, 2}, 0, x[0].dtype())).rows; }, {{{4, 2}}},
                 {.unknown_dimensions = false}),
    gradient_row("ScatterRows", {"ScatterRows"},
                 [](X x) { return scatter_rows({ids({0, 3, -1}), x[0], fill({4, 2}, 0, x[0].dtype())}); }, {{{3, 2}}},
                 {.unknown_dimensions = false}),
};

class SparseRowsTest : public OpTest {
 protected:
  // The gradient of a table [5, 2] looked up at these ids, where the k-th row that was looked up gets k, k.
  Tensor gradient_of(std::initializer_list<std::int64_t> looked_up) {
    const auto n = static_cast<std::int64_t>(looked_up.size());
    return gradients({gather(table, ids(looked_up)) * constant(counting({n, 1}))}, {table})[0];
  }

  Tensor table = placeholder(f32, {5, 2});
  const Feeds feeds{{table, Array::zeros(f32, {5, 2})}};
};

TEST_F(SparseRowsTest, EqualIdsAreSummedAndSortedAndTheRestIsPadding) {
  const std::optional<SparseRows> sparse = as_sparse_rows(gradient_of({4, 1, 4}));
  ASSERT_TRUE(sparse);
  EXPECT_EQ(values<std::int64_t>(sparse->ids, feeds), (Wide{1, 4, -1}));
  EXPECT_EQ(floats(sparse->rows, feeds), (std::vector<float>{1, 1, 2, 2, 0, 0}));
  EXPECT_EQ(floats(gradient_of({4, 1, 4}), feeds), (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0, 2, 2}));
}

TEST_F(SparseRowsTest, ThereAreNoMoreRowsThanTheTableHas) {
  const std::optional<SparseRows> sparse = as_sparse_rows(gradient_of({4, 3, 2, 1, 0, 0, 0}));
  EXPECT_EQ(sparse->ids.shape(), Shape({5}));
  EXPECT_EQ(values<std::int64_t>(sparse->ids, feeds), (Wide{0, 1, 2, 3, 4}));
  EXPECT_EQ(floats(sparse->rows, feeds), (std::vector<float>{15, 15, 3, 3, 2, 2, 1, 1, 0, 0}));
}

TEST_F(SparseRowsTest, AScaledGradientStaysSparse) {
  const Tensor scale = constant(4.f), g = gradient_of({3, 3});
  for (const Tensor& scaled : {g * scale, scale * g, g / constant(0.25f), identity(g * 4.f)}) {
    const std::optional<SparseRows> sparse = as_sparse_rows(scaled);
    ASSERT_TRUE(sparse) << scaled.name();
    EXPECT_EQ(values<std::int64_t>(sparse->ids, feeds), (Wide{3, -1}));
    EXPECT_EQ(floats(sparse->rows, feeds), (std::vector<float>{4, 4, 0, 0}));
  }
}

TEST_F(SparseRowsTest, TwoLookupsInOneTableGiveOneSparseGradient) {
  const Tensor y = reduce_sum(gather(table, ids({1, 3}))) * 2.f +
                   reduce_sum(gather(table, constant(Array::of<std::int32_t>({2}, {3, 0})))) * 5.f;
  const Tensor g = gradients({y}, {table})[0];
  const std::optional<SparseRows> sparse = as_sparse_rows(g);
  ASSERT_TRUE(sparse);
  EXPECT_EQ(values<std::int64_t>(sparse->ids, feeds), (Wide{0, 1, 3, -1}));
  EXPECT_EQ(floats(sparse->rows, feeds), (std::vector<float>{5, 5, 2, 2, 7, 7, 0, 0}));
  EXPECT_EQ(floats(scatter_rows(*sparse), feeds), floats(g, feeds));
}

TEST_F(SparseRowsTest, WhatIsDenseIsNotSparse) {
  const Tensor g = gradient_of({1, 2});
  EXPECT_FALSE(as_sparse_rows(g + table));
  EXPECT_FALSE(as_sparse_rows(table * 2.f));
  EXPECT_FALSE(as_sparse_rows(g * table));
  EXPECT_FALSE(as_sparse_rows(g / table));
  EXPECT_FALSE(as_sparse_rows(2.f / g));
  EXPECT_FALSE(as_sparse_rows(Tensor()));
  EXPECT_EQ(floats(g + 1.f, feeds), (std::vector<float>{1, 1, 1, 1, 2, 2, 1, 1, 1, 1}));
}

TEST_F(SparseRowsTest, TheDenseTensorIsMadeOnlyIfSomebodyReadsIt) {
  const Tensor norm = reduce_sum(square(as_sparse_rows(gradient_of({4, 1, 4}))->rows));
  EXPECT_EQ(Session(graph).explain({norm}, feeds).find("ScatterRows"), std::string::npos);
}

TEST_F(SparseRowsTest, ManyRowsGiveTheSameBitsWhateverTheNumberOfThreads) {
  constexpr std::int64_t n = 3000, width = 33;
  Array index(i32, {n}), values(f32, {n, width});
  for (std::int64_t i = 0; i < n; ++i) index.set_item(i, static_cast<double>(i * i % 97));
  for (std::int64_t i = 0; i < n * width; ++i) values.set_item(i, 1.0 / static_cast<double>(i + 3));
  const SparseRows sparse = sum_rows(constant(index), input(values), fill({101, width}, 0));
  std::vector<Array> results;
  for (int threads : {1, 2, 3}) {
    Session session(graph, {.devices = {{threads}}});
    results.push_back(session.run(scatter_rows(sparse), {{sparse.rows.node()->inputs[1], values}}));
  }
  std::vector<float> expected(101 * width);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < width; ++k)
      expected[static_cast<std::size_t>(i * i % 97 * width + k)] += static_cast<float>(values.item(i * width + k));
  for (const Array& result : results)
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(result.values<float>()[i], expected[i]) << i;
}

TEST_F(SparseRowsTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(error_of([&] { sum_rows(ids({1}), placeholder(f32, {1, 3}), table); }),
      "expected dy of shape [1, 2], got [1, 3]");
  has(error_of([&] { sum_rows(ids({1}), placeholder(i32, {1, 2}), table); }),
      "expected dy of a floating type, got i32. Use cast()");
  has(error_of([&] { sum_rows(ids({1}), placeholder(f32, {1}), constant(1.f)); }),
      "expected a table of rank 1 or more, got []");
  has(error_of([&] { scatter_rows({ids({1}), placeholder(f32, {2, 2}), table}); }),
      "expected rows of shape [1, 2], got [2, 2]");
  has(error_of([&] { scatter_rows({placeholder(i32, {1, 1}), placeholder(f32, {1, 2}), table}); }),
      "expected ids of rank 1, got [1, 1]");
}

}  // namespace
}  // namespace belfry
