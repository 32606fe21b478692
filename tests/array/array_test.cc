#include "belfry/array/array.h"

#include <gtest/gtest.h>

#include "belfry/base/error.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

TEST(Array, HoldsTypedValuesAndRefusesTheWrongType) {
  Array a = Array::of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(a.values<float>()[3], 4.f);
  EXPECT_EQ(a.bytes(), 16u);
  try {
    a.values<int>();
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "[Array] expected elements of type i32, got an array of f32. Ask for values<f32>() or cast() it.");
  }
}

TEST(Array, CopiesShareAndClonesDoNot) {
  Array a = Array::full(f32, {3}, 1);
  Array shared = a, copy = a.clone();
  a.values<float>()[0] = 5;
  EXPECT_EQ(shared.item(0), 5);
  EXPECT_EQ(copy.item(0), 1);
}

TEST(Array, AWrongNumberOfValuesIsAnError) { EXPECT_THROW(Array::of<float>({3}, {1, 2}), Error); }

TEST(Array, ASizeThatDoesNotFitIsAnErrorBeforeMemoryIsAskedFor) {
  const std::int64_t large = std::int64_t{1} << 32;
  EXPECT_EQ(error_of([&] { Array(f32, {large, large}); }),
            "[Array] expected a shape whose size fits 63 bits, got f32 [4294967296, 4294967296].");
  EXPECT_EQ(error_of([&] { Array(f64, {large, large / 16}); }),
            "[Array] expected a shape whose size fits 63 bits, got f64 [4294967296, 268435456].")
      << "the elements can be counted, their bytes cannot";
  EXPECT_EQ(error_of([&] { Array(f32, {0}).reshaped({0, large, large}); }),
            "[Array] expected a shape whose size fits 63 bits, got f32 [0, 4294967296, 4294967296].");
  EXPECT_EQ(error_of([&] { Shape({large, large}).elements(); }),
            "[shape] expected fewer than 2^63 elements, got [4294967296, 4294967296].");
  EXPECT_EQ(checked_bytes(f64, {3, 0, 5}), 0u);
  EXPECT_EQ(checked_bytes(f64, {3, 5}), 120u);
}

TEST(Array, AnEmptyOneSaysSoWhenItIsAskedForAnElement) {
  EXPECT_EQ(error_of([] { Array().item(); }),
            "[Array] expected an element 0, got an empty array. An operation has no value: fetch a tensor.");
  EXPECT_EQ(error_of([] { Array(f32, {2}).item(2); }), "[Array] expected an index below 2, got 2");
}

TEST(Shape, BroadcastsAsNumpyDoes) {
  EXPECT_EQ(broadcast({4, 1, 3}, {5, 1}), Shape({4, 5, 3}));
  EXPECT_EQ(broadcast({kAny, 3}, {3}), Shape({kAny, 3}));
  EXPECT_EQ(broadcast({kAny}, {1}), Shape({kAny}));
  EXPECT_EQ(
      error_of([] { broadcast({5, 3, 1}, {4, 7}); }),
      "expected dimensions that are equal or 1, got [5, 3, 1] and [4, 7] (3 and 4 in dimension -2). Use reshape() "
      "or expand_dims() to say which ones belong together");
}

}  // namespace
}  // namespace belfry
