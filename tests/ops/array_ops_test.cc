#include "belfry/ops/array_ops.h"

#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool array_ops_rows[] = {
    gradient_row("Reshape", {"Reshape", "ReshapeLike"}, [](X x) { return reshape(square(x[0]), {kAny, 2}); },
                 {{{2, 3}}, {{2}}, {{0, 3}}}),
    gradient_row("BatchFlatten", {"BatchFlatten"}, [](X x) { return batch_flatten(square(x[0])); },
                 {{{2, 3, 2}}, {{3}}, {{2, 0, 3}}, {{0, 3}}}),
    gradient_row("ExpandDims", {"ExpandDims", "Squeeze"}, [](X x) { return expand_dims(square(x[0]), {0, -1}); },
                 {{{2, 3}}, {{}}, {{0}}}),
    gradient_row("Squeeze", {"Squeeze", "ExpandDims"}, [](X x) { return squeeze(square(x[0]), {1}); },
                 {{{2, 1, 3}}, {{1, 1}}, {{0, 1}}}),
    gradient_row("Transpose", {"Transpose"}, [](X x) { return transpose(square(x[0]), {2, 0, 1}); },
                 {{{2, 3, 4}}, {{1, 2, 1}}, {{2, 0, 3}}}),
    gradient_row("Concat", {"Concat", "Split", "ConcatGrad"}, [](X x) { return concat({square(x[0]), x[1], x[0]}, 1); },
                 {{{2, 3}, {2, 1}}, {{2, 1, 2}, {2, 2, 2}}, {{2, 0}, {2, 2}}, {{0, 2}, {0, 3}}}),
    gradient_row("Split", {"Split", "Concat"},
                 [](X x) {
                   const Tensors y = split(square(x[0]), {1, 3, 2}, -1);
                   return multiply(y[0], y[2]);
                 },
                 {{{2, 6}}, {{6}}, {{0, 6}}}),
    gradient_row("SplitEvenly", {"Split"},
                 [](X x) {
                   const Tensors y = split(square(x[0]), 2, 0);
                   return multiply(y[0], y[1]);
                 },
                 {{{4, 3}}, {{2}}, {{2, 0}}, {{0, 2}}}),
    gradient_row("Slice", {"Slice", "SliceGrad", "SliceLike"},
                 [](X x) { return slice(square(x[0]), {1, 0}, {2, kAny}); }, {{{3, 2}}, {{4, 3}}, {{3, 0}}}),
    gradient_row("SliceToTheEnd", {"Slice"}, [](X x) { return slice(square(x[0]), {1, 1, 0}, {kAny, 1, kAny}); },
                 {{{3, 2, 2}}, {{1, 2, 2}}, {{2, 3, 1}}}),
    gradient_row("Pad", {"Pad", "SliceLike"}, [](X x) { return pad(square(x[0]), {{1, 0}, {0, 2}}, 0.5); },
                 {{{2, 3}}, {{1, 1}}, {{0, 2}}, {{0, 0}}}),
};

class ArrayOpsTest : public OpTest {
 protected:
  template <class F>
  void expect_error(F&& f, const char* wanted) {
    const std::string text = error_of(f);
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
    EXPECT_NE(text.find("(made at array_ops_test.cc:"), std::string::npos) << text;
  }
};

TEST_F(ArrayOpsTest, ReshapeInfersOneDimension) {
  const Tensor x = input(counting({2, 6})), any = placeholder(f32, {kAny, 6});
  EXPECT_EQ(reshape(x, {3, kAny, 2}).shape(), Shape({3, 2, 2}));
  EXPECT_EQ(floats(reshape(x, {12})), floats(x));
  EXPECT_EQ(reshape(any, {kAny, 3}).shape(), Shape({kAny, 3}));
  EXPECT_EQ(run(reshape(any, {kAny, 3}), {{any, counting({2, 6})}}).shape(), Shape({4, 3}));
  EXPECT_EQ(reshape(input(Array(f32, {0, 6})), {kAny, 3}).shape(), Shape({0, 3}));
  EXPECT_EQ(reshape(input(Array(f32, {0, 6})), {5, 0}).shape(), Shape({5, 0}));
  EXPECT_EQ(reshape(input(1.f), {1, 1}).shape(), Shape({1, 1}));
  EXPECT_EQ(reshape(input(counting({1})), {}).shape(), Shape({}));
}

TEST_F(ArrayOpsTest, ReshapeMistakesNameTheElements) {
  const Tensor x = input(counting({2, 6}));
  expect_error([&] { reshape(x, {5, kAny}, "y"); }, "[Reshape 'y'] expected a new shape of 12 elements, got [5, ?]");
  expect_error([&] { reshape(x, {2, 5}); }, "expected a new shape of 12 elements, got [2, 5]");
  expect_error([&] { reshape(x, {kAny, kAny}); },
               "expected a new shape with at most one unknown dimension, got [?, ?]");
  expect_error([&] { reshape(input(Array(f32, {0, 6})), {kAny, 0}); },
               "expected a new shape whose unknown dimension follows from the others, got [?, 0]");
}

TEST_F(ArrayOpsTest, BatchFlattenKeepsTheBatchEvenIfARowIsEmpty) {
  EXPECT_EQ(batch_flatten(placeholder(f32, {kAny, 2, 3})).shape(), Shape({kAny, 6}));
  EXPECT_EQ(batch_flatten(placeholder(f32, {4})).shape(), Shape({4, 1}));
  EXPECT_EQ(batch_flatten(placeholder(f32, {kAny, 2, 0})).shape(), Shape({kAny, 0}));
  expect_error([&] { batch_flatten(input(1.f)); }, "expected a tensor with a batch dimension, got a scalar");
}

TEST_F(ArrayOpsTest, DimensionsOfSizeOneComeAndGo) {
  const Tensor x = placeholder(f32, {kAny, 3}, "x");
  EXPECT_EQ(expand_dims(x, 0).shape(), Shape({1, kAny, 3}));
  EXPECT_EQ(expand_dims(x, -1).shape(), Shape({kAny, 3, 1}));
  EXPECT_EQ(expand_dims(x, {1, 3}).shape(), Shape({kAny, 1, 3, 1}));
  EXPECT_EQ(squeeze(input(counting({1, 3, 1}))).shape(), Shape({3}));
  EXPECT_EQ(squeeze(x, {0}).shape(), Shape({3}));
  expect_error([&] { squeeze(x, {1}); }, "expected dimensions of size 1 to remove, got 3 at axis 1 of [?, 3]");
  expect_error([&] { squeeze(x); }, "[squeeze] expected axes, got none for 'x' [?, 3]");
  expect_error([&] { expand_dims(x, 3); }, "[expand_dims] expected an axis in [-3, 3), got 3");
  const Tensor flat = input(counting({2, 3}));  // nothing to remove, and so nothing for the gradient to add
  EXPECT_EQ(gradients({squeeze(flat)}, {flat})[0].shape(), Shape({2, 3}));
}

TEST_F(ArrayOpsTest, TransposePermutesAnyType) {
  EXPECT_EQ(floats(transpose(input(counting({2, 3})))), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  const Array y = run(transpose(input(counting({2, 3, 4}, i64)), {1, -1, 0}));
  ASSERT_EQ(y.shape(), Shape({3, 4, 2}));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 2; ++k) EXPECT_EQ(y.item((i * 4 + j) * 2 + k), k * 12 + i * 4 + j);
  EXPECT_EQ(transpose(placeholder(f32, {kAny, 3, 5}), {0, 2, 1}).shape(), Shape({kAny, 5, 3}));
  expect_error([&] { transpose(input(counting({2, 3})), {0}); }, "expected 2 axes, one per dimension of [2, 3], got 1");
  expect_error([&] { transpose(input(counting({2, 3})), {0, 0}); },
               "[transpose] expected every axis once, got axis 0 twice");
}

TEST_F(ArrayOpsTest, ConcatJoinsAlongAnAxis) {
  const Tensor a = input(counting({2, 2})), b = input(counting({2, 1}));
  EXPECT_EQ(floats(concat({a, b}, 1)), (std::vector<float>{0, 1, 0, 2, 3, 1}));
  EXPECT_EQ(floats(concat(Tensors{a, a}, 0)), (std::vector<float>{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(floats(concat({a, input(Array(f32, {2, 0}))}, -1)), floats(a));
  const Tensor any = placeholder(f32, {kAny, 2}), rows = placeholder(f32, {2, kAny});
  EXPECT_EQ(concat({any, a}, 0).shape(), Shape({kAny, 2}));
  EXPECT_EQ(concat({any, b}, 1).shape(), Shape({2, 3}));
  EXPECT_EQ(concat({rows, b}, 1).shape(), Shape({2, kAny}));
  expect_error([&] { concat({a, b}, 0, "both"); },
               "[Concat 'both'] expected dimensions that agree except along axis 0, got [2, 2] and [2, 1]. Use another "
               "axis, or slice() or pad()");
  expect_error([&] { concat({a, input(counting({2}))}, 0); },
               "expected tensors of one rank, got [2, 2] and [2]. Use expand_dims() or reshape()");
  expect_error([&] { concat({a, input(counting({2, 2}, f64))}, 0); },
               "expected tensors of one type, got f32 and f64. Use cast()");
  expect_error([&] { concat({a, b}, 2); }, "[concat] expected an axis in [-2, 2), got 2");
  EXPECT_EQ(error_of([&] { concat(Tensors{}, 0); }), "[concat] expected at least one tensor, got none");
}

TEST_F(ArrayOpsTest, SplitGivesPiecesOfGivenSizesOrEqualParts) {
  const Tensor x = input(counting({2, 4}));
  const Tensors pieces = split(x, {1, 3}, 1);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(floats(pieces[0]), (std::vector<float>{0, 4}));
  EXPECT_EQ(floats(pieces[1]), (std::vector<float>{1, 2, 3, 5, 6, 7}));
  EXPECT_EQ(split(x, {4}, 1).size(), 1u);
  EXPECT_EQ(split(x, 4, 1).size(), 4u);
  EXPECT_EQ(split(placeholder(f32, {kAny, 2}), 2, 0)[1].shape(), Shape({kAny, 2}));
  expect_error([&] { split(x, {1, 2}, 1, "s"); },
               "[Split 's'] expected sizes that add up to 4 along axis 1 of [2, 4], got 3. For equal parts, give their "
               "number instead");
  expect_error([&] { split(x, 3, 1); },
               "expected a dimension that divides into 3 equal parts, got 4 along axis 1 of [2, 4]. Use split() with "
               "the pieces' sizes");
  expect_error([&] { split(x, 0, 1); }, "[split] expected one part or more, got 0");
}

TEST_F(ArrayOpsTest, SliceCutsABox) {
  const Tensor x = input(counting({3, 4})), any = placeholder(f32, {kAny, 4});
  EXPECT_EQ(floats(slice(x, {1, 1}, {2, 2})), (std::vector<float>{5, 6, 9, 10}));
  EXPECT_EQ(floats(slice(x, {2, 1}, {kAny, kAny})), (std::vector<float>{9, 10, 11}));
  EXPECT_EQ(slice(x, {3, 0}, {kAny, 0}).shape(), Shape({0, 0}));
  EXPECT_EQ(slice(any, {1, 0}, {kAny, 2}).shape(), Shape({kAny, 2}));
  expect_error([&] { slice(x, {1, 3}, {1, 2}, "s"); },
               "[Slice 's'] expected a box inside [3, 4], got [1, 2] from 3 on along axis 1. Use a smaller size, or "
               "pad() the tensor first");
  expect_error([&] { slice(x, {4, 0}, {kAny, 1}); },
               "expected a box inside [3, 4], got size -1 from 4 on along axis 0. Begin inside it; a size of kAny "
               "takes all that is left");
  expect_error([&] { slice(x, {0}, {1}); },
               "expected a begin and a size for each of the 2 dimensions of [3, 4], got 1 and 1. Use 0 and kAny for "
               "those that stay whole");
  const std::string text =
      error_of([&] { run(slice(any, {2, 0}, {2, 4}), {{any, counting({3, 4})}}); });  // found when fed
  EXPECT_NE(text.find("expected a box inside [3, 4], got [2, 4] from 2 on along axis 0"), std::string::npos) << text;
}

TEST_F(ArrayOpsTest, PadSurroundsWithAValueOfAnyType) {
  const Tensor x = input(counting({1, 2}, i32));
  EXPECT_EQ(ints(pad(x, {{1, 0}, {0, 1}}, 7)), (std::vector<std::int32_t>{7, 7, 7, 0, 1, 7}));
  EXPECT_EQ(floats(pad(input(2.f), {})), (std::vector<float>{2}));
  EXPECT_EQ(pad(placeholder(f32, {kAny, 2}), {{1, 1}, {1, 1}}).shape(), Shape({kAny, 4}));
  expect_error([&] { pad(x, {{1, 1}}); },
               "expected a padding for each of the 2 dimensions of [1, 2], got 1. Use {0, 0} for those that stay");
  expect_error([&] { pad(x, {{1, 1}, {-1, 0}}); },
               "expected paddings of 0 or more, got -1 and 0 for axis 1. Use slice() to cut something off");
}

TEST_F(ArrayOpsTest, LargeTensorsMoveWhole) {
  const Tensor x = input(counting({130, 70, 9}));
  const Tensor there = transpose(concat(split(x, {30, 40}, 1), 1), {2, 1, 0});
  EXPECT_TRUE(equal(run(transpose(there)), run(x)));
  const Tensor framed = pad(x, {{2, 3}, {0, 1}, {4, 0}}, -1);
  EXPECT_TRUE(equal(run(slice(framed, {2, 0, 4}, {130, 70, 9})), run(x)));
}

}  // namespace
}  // namespace belfry
