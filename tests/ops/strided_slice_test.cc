#include "belfry/ops/strided_slice.h"

#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool strided_slice_rows[] = {
    gradient_row("StridedSlice", {"StridedSlice", "StridedSliceGrad"},
                 [](X x) { return strided_slice(square(x[0]), {{.begin = 1, .step = 2}, {.step = -1}}); },
                 {{{4, 3}}, {{5, 2, 2}}, {{1, 2}}, {{0, 2}}}),
    gradient_row("StridedSliceWithBounds", {"StridedSlice"},
                 [](X x) { return strided_slice(square(x[0]), {{}, {.begin = -1, .end = 0, .step = -2}}); },
                 {{{2, 5}}, {{2, 1}}}),
    gradient_row("Reverse", {"Reverse"}, [](X x) { return reverse(square(x[0]), {0, -1}); },
                 {{{2, 3}}, {{2, 2, 3}}, {{0, 3}}}),
    gradient_row("ReverseSequence", {"ReverseSequence"},
                 [](X x) { return reverse_sequence(square(x[0]), constant(Array::of<std::int32_t>({2}, {2, 3}))); },
                 {{{2, 3}}, {{2, 3, 2}}}),
};

class StridedSliceTest : public OpTest {};

// What a Python programmer would write down: every index between the bounds.
std::vector<float> python_slice(std::int64_t n, std::optional<std::int64_t> begin, std::optional<std::int64_t> end,
                                std::int64_t step) {
  const auto bound = [n, step](std::int64_t at) {
    if (at < 0) at += n;
    if (at < 0) return step > 0 ? std::int64_t{0} : std::int64_t{-1};
    return at >= n ? (step > 0 ? n : n - 1) : at;
  };
  const std::int64_t first = begin ? bound(*begin) : step > 0 ? 0 : n - 1, last = end ? bound(*end) : step > 0 ? n : -1;
  std::vector<float> out;
  for (std::int64_t i = first; step > 0 ? i < last : i > last; i += step) out.push_back(static_cast<float>(i));
  return out;
}

TEST_F(StridedSliceTest, RangesMeanWhatPythonsMean) {
  using Bound = std::optional<std::int64_t>;
  const std::vector<Bound> bounds{{}, -9, -5, -2, -1, 0, 1, 3, 5, 9};
  for (const std::int64_t n : {0, 1, 5}) {
    const Tensor x = input(counting({n}));
    for (const Bound& begin : bounds)
      for (const Bound& end : bounds)
        for (const std::int64_t step : {1, 2, 7, -1, -3})
          ASSERT_EQ(floats(strided_slice(x, {{.begin = begin, .end = end, .step = step}})),
                    python_slice(n, begin, end, step))
              << n << " " << begin.value_or(99) << ":" << end.value_or(99) << ":" << step;
  }
}

TEST_F(StridedSliceTest, AxesWithoutARangeAreWholeAndUnknownOnesStayUnknown) {
  EXPECT_EQ(floats(strided_slice(input(counting({3, 2})), {{.step = -2}})), (std::vector<float>{4, 5, 0, 1}));
  const Tensor any = placeholder(i64, {kAny, 4});
  EXPECT_EQ(strided_slice(any, {{.begin = 1}, {.step = 3}}).shape(), Shape({kAny, 2}));
  EXPECT_EQ(run(strided_slice(any, {{.begin = -2}}), {{any, counting({5, 4}, i64)}}).shape(), Shape({2, 4}));
  const Tensor x = placeholder(f32, {2, 3}, "x");
  std::string text = error_of([&] { strided_slice(x, {{.step = 0}}, "s"); });
  EXPECT_NE(text.find("[StridedSlice 's'] expected steps other than 0, got 0 for axis 0"), std::string::npos) << text;
  text = error_of([&] { strided_slice(x, {{}, {}, {}}); });
  EXPECT_NE(text.find("expected at most 2 ranges, one per dimension of [2, 3], got 3"), std::string::npos) << text;
}

TEST_F(StridedSliceTest, ReverseTurnsAxesRound) {
  const Tensor x = input(counting({2, 3}));
  EXPECT_EQ(floats(reverse(x, {1})), (std::vector<float>{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(floats(reverse(x, {0, 1})), (std::vector<float>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(floats(reverse(x, {})), floats(x));
  const Tensor large = input(counting({130, 70, 9}));
  EXPECT_TRUE(equal(run(reverse(reverse(large, {0, 2}), {2, 0})), run(large)));
  EXPECT_NE(error_of([&] { reverse(x, {0, -2}); }).find("[reverse] expected every axis once, got axis 0 twice"),
            std::string::npos);
}

TEST_F(StridedSliceTest, SequencesAreReversedUpToTheirLength) {
  const Array lengths = Array::of<std::int64_t>({3}, {0, 2, 4});
  const Tensor x = input(counting({3, 4}));
  EXPECT_EQ(floats(reverse_sequence(x, input(lengths))), (std::vector<float>{0, 1, 2, 3, 5, 4, 6, 7, 11, 10, 9, 8}));
  // Time first, features last.
  const Array wide = counting({4, 3, 2});
  const Array y = run(reverse_sequence(input(wide), input(lengths.cast(i32)), {.sequence_axis = 0, .batch_axis = 1}));
  for (std::int64_t t = 0; t < 4; ++t)
    for (std::int64_t b = 0; b < 3; ++b)
      for (std::int64_t k = 0; k < 2; ++k) {
        const auto length = static_cast<std::int64_t>(lengths.item(b));
        EXPECT_EQ(y.item((t * 3 + b) * 2 + k), wide.item(((t < length ? length - 1 - t : t) * 3 + b) * 2 + k));
      }
}

TEST_F(StridedSliceTest, WrongLengthsEndTheRunAndTheSessionGoesOn) {
  const Tensor x = input(counting({2, 3})), lengths = placeholder(i32, {2}, "lengths");
  const Tensor y = reverse_sequence(x, lengths, {}, "turned");
  const std::string text = error_of([&] { run(y, {{lengths, Array::of<std::int32_t>({2}, {1, 4})}}); });
  EXPECT_NE(text.find("[ReverseSequence 'turned'] expected lengths in [0, 3], got 4 for sequence 1 (made at "
                      "strided_slice_test.cc:"),
            std::string::npos)
      << text;
  EXPECT_EQ(floats(y, {{lengths, Array::of<std::int32_t>({2}, {1, 1})}}), floats(x));
  EXPECT_NE(error_of([&] { reverse_sequence(x, input(counting({3}, i32))); }).find("expected lengths of shape [2]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { reverse_sequence(x, lengths, {.sequence_axis = 0}); }).find("expected two axes, got 0"),
            std::string::npos);
}

}  // namespace
}  // namespace belfry
