#include "belfry/ops/sort.h"

#include <cmath>
#include <limits>

#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;
using Longs = std::vector<std::int64_t>;

const bool sort_rows[] = {
    gradient_row("Sort", {"TakeAlongAxis", "TakeAlongAxisGrad"}, [](X x) { return sort(square(x[0])); },
                 {{{2, 5}}, {{3}}, {{0, 3}}, {{2, 0}}}),
    gradient_row("SortAlongTheFirst", {"TakeAlongAxis"},
                 [](X x) { return sort(square(x[0]), 0, SortOrder::descending); }, {{{4, 2}}, {{3, 2, 2}}}),
    gradient_row("TopK", {"TakeAlongAxis", "TakeAlongAxisGrad"},
                 [](X x) { return top_k(square(x[0]) * x[0], 2).values; }, {{{3, 5}}, {{2}}, {{0, 3}}, {{2, 2, 3}}}),
    gradient_row("TakeAlongAxis", {"TakeAlongAxis", "TakeAlongAxisGrad"},
                 [](X x) {
                   return take_along_axis(square(x[0]), constant(Array::of<std::int32_t>({3, 2}, {1, 1, 0, 1, 1, 0})),
                                          0);
                 },
                 {{{2, 2}}}),
};

class SortTest : public OpTest {
 protected:
  Longs longs(const Tensor& t, const Feeds& feeds = {}) { return values<std::int64_t>(t, feeds); }
};

TEST_F(SortTest, EqualElementsKeepTheirOrderInBothDirections) {
  const Tensor x = input(Array::of<float>({2, 4}, {3, 1, 3, 2, 5, 5, 5, 0}));
  EXPECT_EQ(longs(argsort(x)), (Longs{1, 3, 0, 2, 3, 0, 1, 2}));
  EXPECT_EQ(longs(argsort(x, -1, SortOrder::descending)), (Longs{0, 2, 3, 1, 0, 1, 2, 3}));
  EXPECT_EQ(floats(sort(x)), (std::vector<float>{1, 2, 3, 3, 0, 5, 5, 5}));
  EXPECT_EQ(longs(argsort(x, 0)), (Longs{0, 0, 0, 1, 1, 1, 1, 0}));
  EXPECT_EQ(floats(sort(x, 0, SortOrder::descending)), (std::vector<float>{5, 5, 5, 2, 3, 1, 3, 0}));
}

TEST_F(SortTest, NotANumberIsTheLargest) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Tensor x = input(Array::of<float>({5}, {nan, 1, inf, -inf, nan}));
  EXPECT_EQ(longs(argsort(x)), (Longs{3, 1, 2, 0, 4}));
  EXPECT_EQ(longs(argsort(x, 0, SortOrder::descending)), (Longs{0, 4, 2, 1, 3}));
  EXPECT_EQ(longs(top_k(x, 3).indices), (Longs{0, 4, 2}));
}

TEST_F(SortTest, TheLargestOfLargeRowsAreThoseOfSorting) {
  Array x(i32, {50, 700});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set_item(i, static_cast<double>(i * 7919 % 613));
  const Tensor t = input(x);
  const Array sorted = run(sort(t, 1, SortOrder::descending)), order = run(argsort(t, 1, SortOrder::descending));
  const TopK best = top_k(t, 30, "best");
  EXPECT_EQ(best.indices.name(), "best");
  const Array values = run(best.values), indices = run(best.indices);
  for (std::int64_t row = 0; row < 50; ++row) {
    for (std::int64_t i = 1; i < 700; ++i) ASSERT_GE(sorted.item(row * 700 + i - 1), sorted.item(row * 700 + i));
    for (std::int64_t i = 0; i < 30; ++i) {
      ASSERT_EQ(values.item(row * 30 + i), sorted.item(row * 700 + i));
      ASSERT_EQ(indices.item(row * 30 + i), order.item(row * 700 + i));
    }
  }
}

TEST_F(SortTest, MistakesAreFoundWhenDefinedOrWhenRun) {
  const Tensor x = placeholder(f32, {kAny, 3}, "x"), indices = placeholder(i64, {kAny, 2});
  EXPECT_EQ(top_k(x, 2).values.shape(), Shape({kAny, 2}));
  EXPECT_EQ(top_k(x, 0).values.shape(), Shape({kAny, 0}));
  std::string text = error_of([&] { top_k(x, 4, "best"); });
  EXPECT_NE(text.find("[TopK 'best'] expected k from 0 to the size of the last axis of [?, 3], got 4"),
            std::string::npos)
      << text;
  text = error_of([&] { sort(x, 2); });
  EXPECT_NE(text.find("[sort] expected an axis in [-2, 2), got 2"), std::string::npos) << text;
  text = error_of([&] { take_along_axis(x, indices, 0); });
  EXPECT_NE(text.find("expected indices of shape [?, 3], got [?, 2]"), std::string::npos) << text;
  const Tensor taken = take_along_axis(x, indices, 1, "taken");
  text =
      error_of([&] { run(taken, {{x, counting({2, 3})}, {indices, Array::of<std::int64_t>({2, 2}, {0, 2, 3, 1})}}); });
  EXPECT_NE(text.find("[TakeAlongAxis 'taken'] expected indices in [0, 3), got 3 at [1, 0] of [2, 2] (made at "
                      "sort_test.cc:"),
            std::string::npos)
      << text;
  EXPECT_EQ(floats(taken, {{x, counting({1, 3})}, {indices, Array::of<std::int64_t>({1, 2}, {2, 0})}}),
            (std::vector<float>{2, 0}));
}

}  // namespace
}  // namespace belfry
