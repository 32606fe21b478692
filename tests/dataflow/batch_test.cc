#include "belfry/dataflow/batch.h"

#include <atomic>

#include "belfry/dataflow/map.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/flow_testing.h"

namespace belfry {
namespace {

DataPoint same_point(DataPoint point) { return point; }

TEST(Batch, StacksComponentsAlongANewFirstAxis) {
  Flow flow = numbered(6) | batch(3);
  EXPECT_EQ(flow.known_size(), 2);
  flow.next();
  const DataPoint second = *flow.next();
  EXPECT_TRUE(equal(second[0], Array::of<std::int32_t>({3}, {3, 4, 5})));
  EXPECT_TRUE(equal(second[1], Array::of<float>({3, 2}, {3, -3, 4, -4, 5, -5})));
  EXPECT_EQ(flow.next(), std::nullopt);
}

TEST(Batch, RowsWrittenByTheSourceEqualPointsStacked) {
  Flow rows = numbered(10) | shuffle(5) | batch(4, Remainder::keep);
  Flow points = numbered(10) | shuffle(5) | map(same_point) | batch(4, Remainder::keep);
  int batches = 0;
  for (const DataPoint& point : rows) {
    EXPECT_TRUE(same(point, *points.next()));
    ++batches;
  }
  EXPECT_EQ(points.next(), std::nullopt);
  EXPECT_EQ(batches, 3);
}

TEST(Batch, TheRemainderIsDroppedOrKept) {
  for (const FlowStage& stage : {map(same_point), shuffle()}) {
    Flow drop = numbered(7) | stage | batch(3), keep = numbered(7) | stage | batch(3, Remainder::keep);
    EXPECT_EQ(drop.known_size(), 2);
    EXPECT_EQ(drain(drop).size(), 6u);
    EXPECT_EQ(keep.known_size(), 3);
    EXPECT_EQ(drain(keep).size(), 7u);
    keep.start_epoch(1);
    keep.next(), keep.next();
    EXPECT_EQ((*keep.next())[1].shape(), Shape({1, 2}));
  }
  EXPECT_EQ((numbered(6) | batch(3, Remainder::keep)).known_size(), 2);
}

TEST(Batch, MayBeLargerThanAllData) {
  Flow flow = Sequential(5) | map([](DataPoint p) { return p; }) | batch(std::int64_t{1} << 40, Remainder::keep);
  const DataPoint all = *flow.next();
  EXPECT_EQ(all[0].shape(), (Shape{5}));
  EXPECT_EQ(all[0].item(4), 4);
  EXPECT_EQ(flow.next(), std::nullopt);
}

TEST(Batch, GrowsBeyondWhatItTookAtFirst) {
  const auto large = [](DataPoint point) {
    return DataPoint{Array::full(u8, {std::int64_t{1} << 26}, point[0].item())};
  };
  const DataPoint all = *(numbered(6) | map(large) | batch(6)).next();  // four rows fit at first
  EXPECT_EQ(all[0].shape(), (Shape{6, std::int64_t{1} << 26}));
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(all[0].item(i << 26), i);
}

TEST(Batch, UnequalShapesAreAnErrorThatShowsThem) {
  Flow flow =
      from_list({{Array::zeros(f32, {2, 3})}, {Array::zeros(f32, {2, 3})}, {Array::zeros(f32, {2, 4})}}) | batch(3);
  EXPECT_EQ(
      error_of([&] { flow.next(); }),
      "[batch] expected equal shapes for component 0, got [2, 3] in row 0 and [2, 4] in row 2. Resize or pad it in a "
      "map(), make the batch .ragged, or use batch(1).");
}

TEST(Batch, ShapesMayDifferBetweenBatches) {
  Flow flow = from_list({{Array::zeros(f32, {3})}, {Array::zeros(f32, {4})}}) | batch(1);
  EXPECT_EQ((*flow.next())[0].shape(), Shape({1, 3}));
  EXPECT_EQ((*flow.next())[0].shape(), Shape({1, 4}));
}

TEST(Batch, ComponentsMustStayTheSameWithinABatch) {
  Flow count = from_list({{Array(1)}, {Array(1), Array(2)}}) | batch(2);
  EXPECT_EQ(error_of([&] { count.next(); }),
            "[batch] expected 1 components in every point of the batch, got 2 in row 1.");
  Flow dtype = from_list({{Array(1)}, {Array(1.f)}}) | batch(2);
  EXPECT_EQ(error_of([&] { dtype.next(); }),
            "[batch] expected one dtype for component 0, got i32 in row 0 and f32 in row 1. cast() it in a map().");
}

TEST(Batch, AFailedBatchIsNotGoneOnWithAndCanBeReadAgain) {
  for (const int threads : {0, 2}) {
    std::atomic<bool> broken = true;
    Flow flow = numbered(7) |
                map(
                    [&](DataPoint point) {
                      if (point[0].item() == 3 && broken.exchange(false)) throw FileError("no such luck");
                      return point;
                    },
                    {.threads = threads}) |
                batch(2);
    EXPECT_EQ((*flow.next())[0].item(1), 1);
    EXPECT_THROW(flow.next(), FileError);
    EXPECT_EQ(error_of([&] { flow.next(); }),
              "[batch] expected a pass that goes on, got one that ended with an error. Call start_epoch() or restore() "
              "first.");
    flow.restore(flow.state());
    EXPECT_EQ(drain(flow), (std::vector<int>{2, 3, 4, 5})) << threads << " threads";
  }
}

TEST(Batch, ComponentsMustStayTheSameThroughoutAPass) {
  Flow count = from_list({{Array(1)}, {Array(1), Array(2)}}) | batch(1);
  count.next();
  EXPECT_EQ(error_of([&] { count.next(); }),
            "[batch] expected 1 components as in the batches before, got 2. All points of a flow must have the same "
            "components.");
  Flow dtype = from_list({{Array(1)}, {Array(1.f)}}) | batch(1);
  dtype.next();
  EXPECT_EQ(error_of([&] { dtype.next(); }),
            "[batch] expected i32 for component 0 as in the batches before, got f32. cast() it in a map().");
}

TEST(Batch, PointsWithoutComponentsAreAnError) {
  Flow flow = from_list({{}, {}}) | batch(2);
  EXPECT_EQ(error_of([&] { flow.next(); }), "[batch] expected points with at least one component, got none.");
}

TEST(Batch, EmptyArraysStack) {
  Flow flow = from_list({{Array::zeros(f32, {0, 3})}, {Array::zeros(f32, {0, 3})}}) | batch(2);
  EXPECT_EQ((*flow.next())[0].shape(), Shape({2, 0, 3}));
}

TEST(Batch, ASizeBelowOneIsAnError) {
  EXPECT_EQ(error_of([] { batch(0); }), "[batch] expected at least 1 point in a batch, got 0.");
}

}  // namespace
}  // namespace belfry
