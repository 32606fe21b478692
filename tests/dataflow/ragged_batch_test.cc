// Batches of points whose shapes differ.
#include <map>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

Array of_shape(const Shape& shape, float first) {
  Array array(f32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) array.set_item(i, first + static_cast<float>(i));
  return array;
}

// {f32 [1, 2], i32 scalar}, {f32 [3, 2], ...}, {f32 [0, 2], ...}
Flow sequences() {
  return from_list(
      {{of_shape({1, 2}, 10), Array(0)}, {of_shape({3, 2}, 20), Array(1)}, {of_shape({0, 2}, 30), Array(2)}});
}

TEST(RaggedBatch, PadFillsUpTheFirstAxisAndAddsTheLengths) {
  Flow flow = sequences() | batch(3, {.ragged = Ragged::pad, .pad_value = -1});
  EXPECT_EQ(flow.known_size(), 1);
  const DataPoint batched = *flow.next();
  ASSERT_EQ(batched.size(), 3u);
  EXPECT_TRUE(equal(batched[0], Array::of<float>({3, 3, 2}, {10, 11, -1, -1, -1, -1,  //
                                                             20, 21, 22, 23, 24, 25,  //
                                                             -1, -1, -1, -1, -1, -1})));
  EXPECT_TRUE(equal(batched[1], Array::of<std::int32_t>({3}, {0, 1, 2})));
  EXPECT_TRUE(equal(batched[2], Array::of<std::int64_t>({3}, {1, 3, 0})));
}

TEST(RaggedBatch, ConcatPutsRowsOneAfterTheOtherAndAddsTheLengths) {
  Flow flow = sequences() | batch(3, {.ragged = Ragged::concat});
  const DataPoint batched = *flow.next();
  ASSERT_EQ(batched.size(), 3u);
  EXPECT_TRUE(equal(batched[0], Array::of<float>({4, 2}, {10, 11, 20, 21, 22, 23, 24, 25})));
  EXPECT_TRUE(equal(batched[2], Array::of<std::int64_t>({3}, {1, 3, 0})));
}

TEST(RaggedBatch, PadAllFillsUpEveryAxisAndAddsTheShapes) {
  Flow flow = from_list({{of_shape({1, 3, 2}, 10)}, {of_shape({2, 1, 2}, 20)}}) | batch(2, {.ragged = Ragged::pad_all});
  const DataPoint batched = *flow.next();
  ASSERT_EQ(batched.size(), 2u);
  EXPECT_TRUE(equal(batched[0], Array::of<float>({2, 2, 3, 2}, {10, 11, 12, 13, 14, 15, 0,  0,  0, 0, 0, 0,  //
                                                                20, 21, 0,  0,  0,  0,  22, 23, 0, 0, 0, 0})));
  EXPECT_TRUE(equal(batched[1], Array::of<std::int64_t>({2, 3}, {1, 3, 2, 2, 1, 2})));
}

// Every element of a padded batch, one by one.
TEST(RaggedBatch, PadAllKeepsEveryElementInItsPlace) {
  RandomStream random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<DataPoint> points;
    const auto size = [&] { return static_cast<std::int64_t>(random.below(4)); };
    for (int i = 0; i < 3; ++i) points.push_back({of_shape({size(), size(), size()}, static_cast<float>(100 * i))});
    Flow flow = from_list(points) | batch(3, {.ragged = Ragged::pad_all, .pad_value = 7});
    const DataPoint batched = *flow.next();
    const Shape& shape = batched[0].shape();
    for (std::int64_t i = 0; i < batched[0].elements(); ++i) {
      std::int64_t rest = i;
      const std::int64_t c = rest % shape[3], b = (rest /= shape[3]) % shape[2], a = (rest /= shape[2]) % shape[1];
      const Array& point = points[static_cast<std::size_t>(rest / shape[1])][0];
      const Shape& inside = point.shape();
      const bool is_inside = a < inside[0] && b < inside[1] && c < inside[2];
      ASSERT_EQ(batched[0].item(i), is_inside ? point.item((a * inside[1] + b) * inside[2] + c) : 7);
    }
  }
}

TEST(RaggedBatch, LengthsStandBehindAllComponentsInTheirOrder) {
  const auto point = [](std::int64_t words, std::int64_t tags) {
    return DataPoint{of_shape({words}, 0), Array(1.f), of_shape({2}, 0), Array::zeros(u8, {tags})};
  };
  const std::vector<DataPoint> points{point(2, 1), point(5, 0)};
  Flow all = from_list(points) | batch(2, {.ragged = Ragged::pad});
  const DataPoint every = *all.next();
  ASSERT_EQ(every.size(), 7u) << "words, label, place, tags; lengths of words, place, tags";
  EXPECT_TRUE(equal(every[5], Array::of<std::int64_t>({2}, {2, 2})));
  EXPECT_TRUE(equal(every[6], Array::of<std::int64_t>({2}, {1, 0})));
  Flow named = from_list(points) | batch(2, {.ragged = Ragged::concat, .ragged_components = {3, 0}});
  const DataPoint some = *named.next();
  ASSERT_EQ(some.size(), 6u);
  EXPECT_EQ(some[2].shape(), Shape({2, 2}));
  EXPECT_TRUE(equal(some[4], Array::of<std::int64_t>({2}, {2, 5})));
  EXPECT_TRUE(equal(some[5], Array::of<std::int64_t>({2}, {1, 0})));
}

TEST(RaggedBatch, HasTheSameComponentsWhereShapesAreEqual) {
  Flow flow = numbered(4) | batch(2, {.ragged = Ragged::pad});
  const DataPoint batched = *flow.next();
  ASSERT_EQ(batched.size(), 3u);
  EXPECT_TRUE(equal(batched[2], Array::of<std::int64_t>({2}, {2, 2})));
}

TEST(RaggedBatch, TheRemainderIsDroppedOrKept) {
  EXPECT_EQ((sequences() | batch(2, {.ragged = Ragged::pad})).known_size(), 1);
  Flow keep = sequences() | batch(2, {.remainder = Remainder::keep, .ragged = Ragged::concat});
  EXPECT_EQ(keep.known_size(), 2);
  keep.next();
  EXPECT_EQ((*keep.next())[0].shape(), Shape({0, 2}));
  expect_exact_restore([] { return sequences() | batch(2, {.remainder = Remainder::keep, .ragged = Ragged::concat}); });
}

TEST(RaggedBatch, ShapesThatCannotBeJoinedAreErrorsThatShowThem) {
  const auto error = [](const DataPoint& a, const DataPoint& b, const BatchOptions& options) {
    return error_of([&] { (from_list({a, b}) | batch(2, options)).next(); });
  };
  const DataPoint wide{of_shape({2, 3}, 0)}, narrow{of_shape({2, 2}, 0)}, flat{of_shape({2}, 0)}, scalar{Array(1.f)};
  EXPECT_EQ(error(wide, narrow, {.ragged = Ragged::pad}),
            "[batch] expected shapes that differ only in the first axis for component 0 under Ragged::pad, got [2, 3] "
            "in row 0 and [2, 2] in row 1. Ragged::pad_all takes any.");
  EXPECT_EQ(error(wide, narrow, {.ragged = Ragged::concat}),
            "[batch] expected shapes that differ only in the first axis for component 0 under Ragged::concat, got [2, "
            "3] in row 0 and [2, 2] in row 1. Ragged::pad_all takes any.");
  EXPECT_EQ(error(wide, flat, {.ragged = Ragged::pad_all}),
            "[batch] expected equal ranks for the ragged component 0, got [2, 3] in row 0 and [2] in row 1.");
  EXPECT_EQ(error(scalar, scalar, {.ragged = Ragged::pad, .ragged_components = {0}}),
            "[batch] expected a ragged component 0 with at least one axis, got a scalar.");
  EXPECT_EQ(error(wide, wide, {.ragged = Ragged::pad, .ragged_components = {1}}),
            "[batch] expected ragged components below 1, their number, got 1.");
  EXPECT_EQ(error_of([] { batch(2, {.ragged_components = {1}}); }),
            "[batch] expected a kind of .ragged for the .ragged_components, got Ragged::refuse.");
}

// Points {i32 i, f32 [1 + i % shapes]}.
std::vector<DataPoint> points_of_shapes(int count, int shapes) {
  std::vector<DataPoint> points;
  for (int i = 0; i < count; ++i) points.push_back({Array(i), of_shape({1 + i % shapes}, 0)});
  return points;
}

TEST(BatchByShape, GathersPointsOfOneShapeInOrder) {
  Flow flow = from_list(points_of_shapes(7, 3)) | batch_by_shape(2);
  EXPECT_EQ(flow.size(), std::nullopt);
  EXPECT_EQ(drain(flow), (std::vector<int>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(flow.next(), std::nullopt);
  flow.start_epoch(1);
  EXPECT_EQ((*flow.next())[1].shape(), Shape({2, 1}));
  EXPECT_EQ((*flow.next())[1].shape(), Shape({2, 2}));
}

TEST(BatchByShape, KeepsTheRemaindersTheOldestFirst) {
  Flow flow = from_list(points_of_shapes(8, 3)) | batch_by_shape(2, Remainder::keep);
  EXPECT_EQ(drain(flow), (std::vector<int>{0, 3, 1, 4, 2, 5, 6, 7}));
  EXPECT_EQ(drain(from_list(points_of_shapes(5, 3)) | batch_by_shape(4, Remainder::keep)),
            (std::vector<int>{0, 3, 1, 4, 2}));
}

TEST(BatchByShape, ShapesOfAllComponentsCount) {
  const Array one = of_shape({1}, 0), two = of_shape({2}, 0), row = of_shape({1, 1}, 0);
  Flow flow = from_list({{one, two}, {two, one}, {one, row}, {one, two}}) | batch_by_shape(2, Remainder::keep);
  EXPECT_EQ(points_left(flow).size(), 3u);
}

TEST(BatchByShape, RestoresExactlyAtEveryPoint) {
  for (const Remainder remainder : {Remainder::drop, Remainder::keep})
    for (const int size : {1, 2, 3, 5}) {
      const auto list = [] { return from_list(points_of_shapes(23, 4)); };
      expect_exact_restore([&] { return list() | shuffle(1) | batch_by_shape(size, remainder); });
      expect_exact_restore([&] { return list() | prefetch(2) | batch_by_shape(size, remainder) | prefetch(2); });
    }
}

TEST(BatchByShape, RestoringReadsOnlyWhatWaitsWhereThereIsRandomAccess) {
  int reads = 0;
  std::vector<DataPoint> points = points_of_shapes(100, 1);
  points[3][1] = of_shape({7}, 0);  // waits until the end
  const auto make = [&] {
    return from_list(points) | map([&](DataPoint point) {
             ++reads;
             return point;
           }) |
           batch_by_shape(10, Remainder::keep);
  };
  Flow flow = make(), restored = make();
  for (int i = 0; i < 8; ++i) flow.next();
  reads = 0;
  restored.restore(flow.state());
  EXPECT_EQ(reads, 0);  // not yet
  const std::vector<int> rest = drain(flow);
  const int left = std::exchange(reads, 0);
  EXPECT_EQ(drain(restored), rest);
  EXPECT_EQ(reads, 1 + left);
}

TEST(BatchByShape, ComponentsMustStayTheSameThroughoutAPass) {
  Flow count = from_list({{Array(1)}, {Array(1), Array(2)}}) | batch_by_shape(3);
  EXPECT_EQ(error_of([&] { count.next(); }),
            "[batch_by_shape] expected 1 components as in the points before, got 2. All points of a flow must have the "
            "same components.");
  Flow dtype = from_list({{Array(1)}, {Array(1.f)}}) | batch_by_shape(3);
  EXPECT_EQ(error_of([&] { dtype.next(); }),
            "[batch_by_shape] expected i32 for component 0 as in the points before, got f32. cast() it in a map().");
  Flow none = from_list({{}, {}}) | batch_by_shape(2);
  EXPECT_EQ(error_of([&] { none.next(); }), "[batch_by_shape] expected points with at least one component, got none.");
  EXPECT_EQ(error_of([] { batch_by_shape(0); }), "[batch_by_shape] expected at least 1 point in a batch, got 0.");
}

TEST(BatchByShape, ADamagedStateIsAnError) {
  Flow flow = from_list(points_of_shapes(9, 2)) | batch_by_shape(3);
  flow.next();
  const FlowState good = flow.state();
  const auto with = [&](const std::string& name, std::uint64_t value) {
    FlowState state = good;
    for (auto& [key, number] : state.numbers)
      if (key == name) number = value;
    return error_of([&] {
      flow.restore(state);
      flow.next();
    });
  };
  EXPECT_EQ(to_string(good), R"({"flow":"batch_by_shape","points":3,"keep":0,"read":4,"waiting0":0,"waiting1":2,)"
                             R"("from":[{"flow":"list","count":9,"epoch":0,"position":1}],)"
                             R"-("identity":"list(count=9) | batch_by_shape(points=3, keep=no)"})-");
  EXPECT_EQ(
      with("waiting1", 4),
      "[restore] expected ascending numbers below 4 for the points that wait in 'batch_by_shape', got others. The "
      "state is damaged.");
  EXPECT_EQ(with("read", 9),
            "[restore] expected 9 points from here in 'list', with fewer than 3 of each shape waiting, got others at "
            "point 8. The source has changed.");
  flow.restore(good);
  EXPECT_EQ(drain(flow), (std::vector<int>{1, 3, 5}));
}

}  // namespace
}  // namespace belfry
