#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/npz.h"
#include "tests/dataflow/restore_checks.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;
using testing_support::TempDir;

class FromNpz : public testing::Test {
 protected:
  FromNpz() {
    write_npz(path, {{"x", Array::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})},
                     {"y", Array::of<std::int64_t>({3}, {7, 8, 9})},
                     {"scalar", Array(1.f)},
                     {"short", Array::zeros(u8, {2, 4})}});
  }
  TempDir dir;
  std::string path = dir / "data.npz";
};

TEST_F(FromNpz, PointsAreTheRowsOfTheNamedArrays) {
  Flow flow = from_npz(path, {.arrays = {"y", "x"}});
  EXPECT_EQ(flow.known_size(), 3);
  flow.next();
  const DataPoint point = *flow.next();
  ASSERT_EQ(point.size(), 2u);
  EXPECT_TRUE(equal(point[0], Array(std::int64_t{8})));
  EXPECT_TRUE(equal(point[1], Array::of<float>({2}, {3, 4})));
}

TEST_F(FromNpz, PointsOutliveTheFlow) {
  std::optional<DataPoint> point = from_npz(path, {.arrays = {"x"}}).next();
  EXPECT_TRUE(equal((*point)[0], Array::of<float>({2}, {1, 2})));
}

TEST_F(FromNpz, ReadsRowsStraightIntoBatches) {
  Flow flow = from_npz(path, {.arrays = {"x", "y"}});
  const std::vector<ComponentSpec>* spec = flow->random_access()->row_spec();
  ASSERT_NE(spec, nullptr);
  EXPECT_EQ((*spec)[0], (ComponentSpec{f32, {2}}));
  const DataPoint batched = *(flow | batch(3)).next();
  EXPECT_TRUE(equal(batched[0], Array::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(equal(batched[1], Array::of<std::int64_t>({3}, {7, 8, 9})));
}

TEST_F(FromNpz, WithoutNamesAllArraysInTheOrderOfTheirNames) {
  write_npz(path, {{"b", Array::zeros(f32, {2, 0})}, {"a", Array::of<std::uint8_t>({2}, {4, 5})}});
  const DataPoint point = *from_npz(path).next();
  EXPECT_TRUE(equal(point[0], Array::full(u8, {}, 4)));
  EXPECT_EQ(point[1].shape(), Shape{0});
  write_npz(path, {{"none", Array::zeros(f32, {0, 3})}});
  EXPECT_EQ(from_npz(path).next(), std::nullopt);
}

TEST_F(FromNpz, SavedPositionsContinueExactly) {
  expect_exact_restore([&] { return from_npz(path, {.arrays = {"x", "y"}}) | shuffle(3); });
}

TEST_F(FromNpz, ArraysThatDoNotBelongTogetherAreRefused) {
  EXPECT_EQ(file_error_of([&] { from_npz(path, {.arrays = {"x", "z"}}); }),
            "[npz] '" + path + "': expected an array 'z', got only scalar, short, x, y.");
  EXPECT_EQ(file_error_of([&] { from_npz(path, {.arrays = {"x", "short"}}); }),
            "[from_npz] expected as many rows in 'short' as in 'x', 3, got 2 in '" + path +
                "'. Name in .arrays those that belong together.");
  EXPECT_EQ(
      file_error_of([&] { from_npz(path); }),
      "[from_npz] expected arrays with rows, got 'scalar', a scalar, in '" + path + "'. Name the others in .arrays.");
  write_npz(path, {});
  EXPECT_EQ(file_error_of([&] { from_npz(path); }),
            "[from_npz] expected at least one array, got none in '" + path + "'.");
}

TEST_F(FromNpz, RowsThatTakeNoBytesAreNotCounted) {
  write_npz(path, {{"a", Array::zeros(f32, {std::int64_t{1} << 40, 0})},
                   {"b", Array::zeros(u8, {std::int64_t{1} << 40, 2, 0})}});
  EXPECT_EQ(file_error_of([&] { from_npz(path) | shuffle(); }),
            "[from_npz] expected an array whose rows have elements, got 'a' of shape [1099511627776, 0] in '" + path +
                "'. Name one that has some in .arrays.");
}

}  // namespace
}  // namespace belfry
