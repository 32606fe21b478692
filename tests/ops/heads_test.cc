#include "belfry/ops/heads.h"

#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool heads_rows[] = {
    gradient_row("SplitLastAxis", {"SplitLastAxis", "MergeLastAxes"}, [](X x) { return split_last_axis(x[0], 2); },
                 {{{3, 4}}, {{6}}, {{2, 0}}}),
    gradient_row("MergeLastAxes", {"MergeLastAxes"}, [](X x) { return merge_last_axes(x[0]); },
                 {{{2, 2, 3}}, {{2, 3}}, {{2, 0, 3}}}),
    gradient_row("SplitHeads", {"SplitLastAxis"}, [](X x) { return merge_heads(split_heads(x[0], 2)); }, {{{2, 3, 4}}}),
    gradient_row("BandPart", {"BandPart"}, [](X x) { return band_part(x[0], 1, 0); },
                 {{{3, 3}}, {{2, 2, 4}}, {{0, 2}}}),
};

class HeadsTest : public OpTest {};

TEST_F(HeadsTest, HeadsAreSideBySideInTheLastAxis) {
  // [1, 2, 4]: time 0 is 0 1 2 3, time 1 is 4 5 6 7.
  const Tensor x = input(counting({1, 2, 4})), heads = split_heads(x, 2);
  EXPECT_EQ(heads.shape(), Shape({1, 2, 2, 2}));
  EXPECT_EQ(floats(heads), (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(floats(merge_heads(heads)), floats(x));
  EXPECT_EQ(split_heads(placeholder(f32, {kAny, kAny, 12}), 3).shape(), Shape({kAny, 3, kAny, 4}));
}

TEST_F(HeadsTest, BandPartKeepsTheDiagonalsAskedFor) {
  const Tensor x = input(Array::full(f32, {3, 3}, 1));
  EXPECT_EQ(floats(band_part(x, -1, 0)), (std::vector<float>{1, 0, 0, 1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(floats(band_part(x, 0, -1)), (std::vector<float>{1, 1, 1, 0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(floats(band_part(x, 1, 1)), (std::vector<float>{1, 1, 0, 1, 1, 1, 0, 1, 1}));
}

TEST_F(HeadsTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor x = placeholder(f32, {2, 3, 10});
  has(error_of([&] { split_heads(x, 3); }), "expected a last axis that divides into 3 equal parts, got [2, 3, 10]");
  has(error_of([&] { split_last_axis(x, 0); }), "expected one part or more, got 0");
  has(error_of([&] { split_last_axis(placeholder(f32, {}), 1); }), "expected a tensor with a last axis, got a scalar");
  has(error_of([&] { merge_last_axes(placeholder(f32, {3})); }), "expected a tensor of rank 2 or more, got [3]");
  has(error_of([&] { band_part(placeholder(f32, {3}), 0, 0); }), "expected matrices (rank 2 or more), got [3]");
  has(error_of([&] { band_part(x, -2, 0); }), "expected .lower of 0 or more diagonals, or -1 for all of them, got -2");
}

}  // namespace
}  // namespace belfry
