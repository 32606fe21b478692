#include "belfry/ops/scatter_nd.h"

#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

Tensor pairs() { return constant(Array::of<std::int32_t>({3, 2}, {0, 1, 1, 0, 0, 1})); }
Tensor rows_of_two() { return constant(Array::of<std::int64_t>({2, 2, 1}, {1, 0, 1, 1})); }

const bool scatter_nd_rows[] = {
    gradient_row("GatherNd", {"GatherNd", "ScatterNd"}, [](X x) { return gather_nd(square(x[0]), pairs()); },
                 {{{2, 2}}, {{2, 3, 2}}, {{2, 2, 0}}}),
    gradient_row("GatherNdRows", {"GatherNd", "ScatterNd"}, [](X x) { return gather_nd(square(x[0]), rows_of_two()); },
                 {{{2, 3}}, {{2}}}),
    gradient_row("ScatterNd", {"ScatterNd", "GatherNd"},
                 [](X x) { return scatter_nd(pairs(), square(x[0]), {2, 3, 2}); }, {{{3, 2}}}),
    gradient_row("ScatterNdAdd", {"ScatterNd", "GatherNd"},
                 [](X x) { return square(scatter_nd_add(x[0], pairs(), x[1])); }, {{{2, 3, 2}, {3, 2}}, {{2, 2}, {3}}}),
};

class ScatterNdTest : public OpTest {};

TEST_F(ScatterNdTest, IndicesChooseElementsOrParts) {
  const Tensor x = input(counting({2, 3}));
  EXPECT_EQ(floats(gather_nd(x, input(Array::of<std::int32_t>({2, 2}, {1, 2, 0, 1})))), (std::vector<float>{5, 1}));
  EXPECT_EQ(floats(gather_nd(x, input(Array::of<std::int64_t>({2, 1}, {1, 0})))),
            (std::vector<float>{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(floats(gather_nd(x, input(Array(i32, {1, 0})))), floats(x)) << "an index of nothing chooses all";
  EXPECT_EQ(gather_nd(placeholder(f32, {kAny, 3, 4}), placeholder(i32, {kAny, 5, 1})).shape(), Shape({kAny, 5, 3, 4}));
  EXPECT_EQ(run(gather_nd(x, input(Array(i32, {0, 1})))).shape(), Shape({0, 3}));
}

TEST_F(ScatterNdTest, UpdatesOfOneIndexAddUp) {
  const Tensor indices = input(Array::of<std::int32_t>({3, 1}, {2, 0, 2})), updates = input(counting({3, 2}));
  EXPECT_EQ(floats(scatter_nd(indices, updates, {4, 2})), (std::vector<float>{2, 3, 0, 0, 4, 6, 0, 0}));
  const Tensor x = input(Array::full(f32, {4, 2}, 10));
  EXPECT_EQ(floats(scatter_nd_add(x, indices, updates)), (std::vector<float>{12, 13, 10, 10, 14, 16, 10, 10}));
  EXPECT_EQ(floats(scatter_add(x, input(Array::of<std::int64_t>({3}, {2, 0, 2})), updates)),
            floats(scatter_nd_add(x, indices, updates)));
  EXPECT_EQ(floats(scatter_nd(input(Array(i32, {0, 1})), input(Array(f32, {0, 2})), {1, 2})),
            (std::vector<float>{0, 0}));
}

TEST_F(ScatterNdTest, LargeOnesAgreeWithPlainLoopsWhateverTheTeam) {
  constexpr std::int64_t n = 3000, rows_ = 70, columns = 33;
  Array indices(i32, {n, 1}), updates(f32, {n, columns});
  for (std::int64_t i = 0; i < n; ++i) indices.set_item(i, static_cast<double>(i * 7919 % rows_));
  for (std::int64_t i = 0; i < n * columns; ++i) updates.set_item(i, static_cast<double>(i % 17) * 0.1);
  std::vector<float> wanted(rows_ * columns, 0.f);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < columns; ++k)
      wanted[static_cast<std::size_t>(indices.item(i)) * columns + static_cast<std::size_t>(k)] +=
          updates.values<float>()[static_cast<std::size_t>(i * columns + k)];
  const Tensor t = input(indices), u = input(updates), y = scatter_nd(t, u, {rows_, columns});
  EXPECT_EQ(floats(y), wanted) << "added in their order";
  EXPECT_EQ(floats(gather_nd(u, t))[columns], updates.values<float>()[7919 % rows_ * columns]);
}

TEST_F(ScatterNdTest, MistakesAreFoundWhenDefinedOrWhenRun) {
  const Tensor x = placeholder(f32, {2, 3}, "x"), at = placeholder(i32, {kAny, 2}, "at");
  std::string text = error_of([&] { gather_nd(x, placeholder(i32, {4, 3}), "g"); });
  EXPECT_NE(text.find("[GatherNd 'g'] expected indices of at most 2 axes, those of [2, 3], got 3 in [4, 3]"),
            std::string::npos)
      << text;
  text = error_of([&] { gather_nd(x, placeholder(i32, {4, kAny})); });
  EXPECT_NE(text.find("expected indices whose last dimension is known, got [4, ?]"), std::string::npos) << text;
  text = error_of([&] { gather_nd(x, x); });
  EXPECT_NE(text.find("expected indices of type i32 or i64, got f32"), std::string::npos) << text;
  text = error_of([&] { scatter_nd_add(x, placeholder(i32, {4, 1}), placeholder(f32, {4, 2})); });
  EXPECT_NE(text.find("expected updates of shape [4, 3], got [4, 2]"), std::string::npos) << text;
  const Tensor y = gather_nd(x, at, "chosen");
  text = error_of([&] { run(y, {{x, counting({2, 3})}, {at, Array::of<std::int32_t>({2, 2}, {0, 0, 1, -1})}}); });
  EXPECT_NE(text.find("[GatherNd 'chosen'] expected indices in [0, 3) into axis 1, got -1 in index 1 of 2 (made at "
                      "scatter_nd_test.cc:"),
            std::string::npos)
      << text;
  EXPECT_EQ(floats(y, {{x, counting({2, 3})}, {at, Array::of<std::int32_t>({1, 2}, {1, 1})}}), (std::vector<float>{4}));
}

}  // namespace
}  // namespace belfry
