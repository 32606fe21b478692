#include "belfry/ops/gather.h"

#include "belfry/graph/gradients.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

Tensor indices(const Shape& shape, std::initializer_list<std::int32_t> values) {
  return constant(Array::of<std::int32_t>(shape, values));
}

const bool gather_rows[] = {
    // An index twice, one never, in both orders.
    gradient_row("Gather", {"Gather", "SumRows", "ScatterRows"},
                 [](X x) { return gather(x[0], indices({2, 2}, {3, 0, 3, 1})); }, {{{4, 3}}, {{4}}, {{4, 0}}}),
    gradient_row("GatherWideIndices", {"Gather"},
                 [](X x) { return gather(x[0], constant(Array::of<std::int64_t>({3}, {1, 1, 0}))); }, {{{2, 2, 2}}}),
    gradient_row("GatherOneIndex", {"Gather"}, [](X x) { return gather(x[0], indices({}, {1})); }, {{{2, 3}}}),
    gradient_row("GatherNothing", {"Gather"}, [](X x) { return gather(x[0], indices({0}, {})); }, {{{2, 3}}}),
    gradient_row("GatherMiddleAxis", {"Gather", "GatherGrad"},
                 [](X x) { return gather(x[0], indices({3}, {2, 0, 2}), {.axis = 1}); }, {{{2, 3, 2}}, {{0, 3, 2}}}),
    gradient_row("GatherLastAxis", {"Gather", "GatherGrad"},
                 [](X x) { return gather(x[0], indices({2, 2}, {2, 0, 2, 2}), {.axis = -1}); }, {{{2, 3}}}),
};

class GatherTest : public OpTest {};

TEST_F(GatherTest, PicksRowsInTheShapeOfTheIndices) {
  const Tensor table = input(counting({4, 2})), ids = indices({2, 2}, {3, 0, 1, 3});
  const Tensor y = embedding_lookup(table, ids);
  EXPECT_EQ(y.shape(), Shape({2, 2, 2}));
  EXPECT_EQ(floats(y), (std::vector<float>{6, 7, 0, 1, 2, 3, 6, 7}));
  EXPECT_EQ(floats(gather(table, indices({}, {2}))), (std::vector<float>{4, 5}));
}

TEST_F(GatherTest, PicksAlongAnyAxis) {
  const Tensor x = input(counting({2, 3, 2})), ids = indices({2}, {2, 0});
  EXPECT_EQ(floats(gather(x, ids, {.axis = 1})), (std::vector<float>{4, 5, 0, 1, 10, 11, 6, 7}));
  const Tensor last = gather(x, indices({1}, {1}), {.axis = -1});
  EXPECT_EQ(last.shape(), Shape({2, 3, 1}));
  EXPECT_EQ(floats(last), (std::vector<float>{1, 3, 5, 7, 9, 11}));
}

TEST_F(GatherTest, CarriesEveryType) {
  EXPECT_EQ(ints(gather(input(counting({3}, i32)), indices({2}, {2, 1}))), (std::vector<std::int32_t>{2, 1}));
  const Tensor flags = input(Array::of<bool>({3}, {true, false, true}));
  EXPECT_EQ(bools(gather(flags, indices({2}, {1, 2}))), (std::vector<bool>{false, true}));
}

TEST_F(GatherTest, ShapesKeepWhatIsKnown) {
  const Tensor table = placeholder(f32, {kAny, 8}), ids = placeholder(i64, {20, kAny});
  EXPECT_EQ(gather(table, ids).shape(), Shape({20, kAny, 8}));
  EXPECT_EQ(gather(table, ids, {.axis = 1}).shape(), Shape({kAny, 20, kAny}));
}

TEST_F(GatherTest, AnIndexOutOfRangeNamesOpPlaceValueAndLineAndTheSessionGoesOn) {
  const Tensor table = placeholder(f32, {kAny, 2}), ids = placeholder(i32, {kAny, 2});
  const Tensor y = gather(table, ids, {}, "lookup");
  const Tensor gradient = gradients({y}, {table})[0];
  Session session(graph);
  const auto run_with = [&](const Tensor& t, std::int32_t id) {
    return session.run(t, {{table, counting({3, 2})}, {ids, Array::of<std::int32_t>({1, 2}, {0, id})}});
  };
  std::string text = error_of([&] { run_with(y, 3); });
  EXPECT_NE(text.find("[Gather 'lookup'] expected indices in [0, 3), got 3 at [0, 1] of [1, 2]. Check the data and the "
                      "size of the table."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("gather_test.cc:"), std::string::npos) << text;
  EXPECT_NE(error_of([&] { run_with(y, -1); }).find("got -1 at [0, 1]"), std::string::npos);
  text = error_of([&] { run_with(gradient, 3); });
  EXPECT_NE(text.find("[SumRows '"), std::string::npos) << text;
  EXPECT_NE(text.find("expected indices in [0, 3), got 3 at [0, 1] of [1, 2]"), std::string::npos) << text;
  EXPECT_EQ(run_with(y, 2).item(2), 4);
  EXPECT_EQ(run_with(gradient, 2).item(4), 1);
}

TEST_F(GatherTest, AnEmptyTableHasNoRowToGive) {
  const Tensor table = placeholder(f32, {0, 2});
  EXPECT_EQ(run(gather(table, indices({0}, {})), {{table, Array(f32, {0, 2})}}).shape(), Shape({0, 2}));
  EXPECT_NE(error_of([&] {
              run(gather(table, indices({1}, {0})), {{table, Array(f32, {0, 2})}});
            }).find("expected indices in [0, 0), got 0 at [0] of [1]"),
            std::string::npos);
}

TEST_F(GatherTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor x = placeholder(f32, {2, 3});
  has(error_of([&] { gather(x, placeholder(f32, {2})); }), "expected indices of type i32 or i64, got f32. Use cast()");
  has(error_of([&] { gather(x, placeholder(i32, {2}), {.axis = 2}); }),
      "[gather] expected an axis in [-2, 2), got 2. Input:");
  has(error_of([&] { gather(placeholder(f32, {}), placeholder(i32, {2})); }), "expected an axis in [0, 0), got 0");
}

}  // namespace
}  // namespace belfry
