#include "belfry/array/rows.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace belfry {
namespace {

TEST(RowsOf, ShareTheMemoryOfTheBatchAndKeepIt) {
  std::vector<Array> rows;
  {
    Array batch = Array::of<std::int32_t>({3, 2}, {1, 2, 3, 4, 5, 6});
    rows = rows_of(batch);
    batch.set_item(3, 40);
  }
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(equal(rows[0], Array::of<std::int32_t>({2}, {1, 2})));
  EXPECT_TRUE(equal(rows[1], Array::of<std::int32_t>({2}, {3, 40})));
  EXPECT_TRUE(equal(rows[2], Array::of<std::int32_t>({2}, {5, 6})));
  EXPECT_EQ(rows_of(Array::of<float>({2}, {7, 8}))[1].item(), 8);
}

TEST(RowsOf, AnEmptyBatchHasNoneAndAScalarIsAnError) {
  EXPECT_TRUE(rows_of(Array(f32, {0, 4})).empty());
  EXPECT_EQ(rows_of(Array(f32, {2, 0})).size(), 2u);
  EXPECT_EQ(error_of([] { rows_of(Array(1.f)); }), "[rows_of] expected an array of rank 1 or more, got a scalar.");
}

}  // namespace
}  // namespace belfry
