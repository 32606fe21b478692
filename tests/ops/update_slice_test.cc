#include "belfry/ops/update_slice.h"

#include "belfry/ops/array_ops.h"
#include "belfry/ops/control_flow.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool update_slice_rows[] = {
    gradient_row("UpdateSlice", {"UpdateSlice", "SliceAt"},
                 [](X x) { return square(update_slice(square(x[0]), square(x[1]), {0, size_of(x[0], 1) - 2, 1})); },
                 {{{2, 3, 2}, {2, 1, 1}}, {{1, 2, 3}, {1, 2, 2}}, {{0, 3, 2}, {0, 1, 1}}}),
};

class UpdateSliceTest : public OpTest {};

TEST_F(UpdateSliceTest, TheBoxIsWrittenAndTheRestStays) {
  const Tensor x = placeholder(f32, {kAny, 4}, "x"), part = placeholder(f32, {kAny, 2}, "part"),
               at = placeholder(i32, {}, "at");
  const Tensor y = update_slice(x, part, {0, at});
  EXPECT_EQ(to_string(y.shape()), "[?, 4]");
  Session session(graph);
  for (const std::int64_t batch : {3, 1, 0, 3})
    for (const int place : {0, 1, 2}) {
      const Array out =
          session.run(y, {{x, counting({batch, 4})}, {part, Array::full(f32, {batch, 2}, -1)}, {at, Array(place)}});
      ASSERT_EQ(out.shape(), Shape({batch, 4}));
      for (std::int64_t i = 0; i < out.elements(); ++i) {
        const bool inside = i % 4 >= place && i % 4 < place + 2;
        EXPECT_EQ(out.item(i), inside ? -1 : static_cast<double>(i)) << batch << " rows at " << place;
      }
    }
}

TEST_F(UpdateSliceTest, ABoxThatLeavesTheTensorEndsTheRun) {
  const Tensor x = input(counting({2, 4})), part = input(counting({2, 2})), at = placeholder(i64, {}, "at");
  const Tensor y = update_slice(x, part, {0, at}, "cache");
  for (const std::int64_t place : {3, -1}) {
    const std::string text = error_of([&] { run(y, {{at, Array(place)}}); });
    EXPECT_TRUE(text.starts_with("[UpdateSlice 'cache'] expected a box inside [2, 4], got size 2 from " +
                                 std::to_string(place) + " on along axis 1 (made at update_slice_test.cc:"))
        << text;
  }
  EXPECT_EQ(run(y, {{at, Array(std::int64_t{2})}}).item(7), 3);
}

TEST_F(UpdateSliceTest, APartThatCannotFitIsAnErrorWhereItIsMade) {
  const Tensor x = input(counting({2, 4}));
  EXPECT_NE(error_of([&] {
              update_slice(x, input(counting({2, 5})), {0, 0});
            }).find("expected a part that fits into [2, 4], got [2, 5]"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              update_slice(x, input(counting({2, 1}, i32)), {0, 0});
            }).find("expected a part of type f32, got i32. Use cast()"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              update_slice(x, input(counting({2, 1})), {0});
            }).find("expected a begin for each of the 2 dimensions of [2, 4], got i64 [1]"),
            std::string::npos);
}

TEST_F(UpdateSliceTest, AVariableKeepsTheBoxFromRunToRun) {
  const Variable kept = get_variable("kept", {.shape = {3, 2}, .trainable = false});
  const Tensor part = placeholder(f32, {1, 2}, "part"), at = placeholder(i64, {}, "at");
  const Tensor now = assign_slice(kept, part, {at, 0}), before = Tensor(kept) * 1.f;
  Session session(graph);
  session.initialize();
  session.set_value(kept, counting({3, 2}));
  const auto put = [&](std::int64_t place, float value) {
    return session.run({now, before}, {{part, Array::full(f32, {1, 2}, value)}, {at, Array(place)}});
  };
  const std::vector<Array> first = put(1, 7);
  EXPECT_EQ(first[0].item(2), 7);
  EXPECT_EQ(first[1].item(2), 2);  // a read without a path from the assignment sees the start of the run
  const std::vector<Array> second = put(2, 8);
  std::vector<double> all;
  for (std::int64_t i = 0; i < 6; ++i) all.push_back(second[0].item(i));
  EXPECT_EQ(all, (std::vector<double>{0, 1, 7, 7, 8, 8}));
  EXPECT_NE(error_of([&] { put(3, 9); }).find("expected a box inside [3, 2], got size 1 from 3 on"), std::string::npos);
  EXPECT_EQ(session.value(kept).item(4), 8);
}

// A filter lies as its convolutions want it, and has a copy for the gradient.
TEST_F(UpdateSliceTest, AVariableMayLieInBlocks) {
  const Variable filter = get_variable("filter", {.shape = {3, 3, 32, 20}});
  const Tensor x = placeholder(f32, {2, 8, 8, 32}, "x"), y = conv2d(x, filter);
  const Tensor dx = gradients(reduce_sum(square(y)), {x})[0];
  const Tensor put = assign_slice(filter, constant(Array::full(f32, {1, 2, 32, 5}, 0.5)), {1, 1, 0, 2});
  Session session(graph);
  session.initialize();
  const Feeds feeds{{x, counting({2, 8, 8, 32})}};
  session.run({y, dx}, feeds);
  Array wanted = session.value(filter).clone();
  session.run(put);
  for (std::int64_t i = 0; i < wanted.elements(); ++i) {
    const std::int64_t o = i % 20, w = i / 640 % 3, h = i / 1920;
    if (h == 1 && w >= 1 && o >= 2 && o < 7) wanted.set_item(i, 0.5);
  }
  const Array got = session.value(filter);
  for (std::int64_t i = 0; i < wanted.elements(); ++i) ASSERT_EQ(got.item(i), wanted.item(i)) << i;
  const std::vector<Array> written = session.run({y, dx}, feeds);
  session.set_value(filter, wanted);
  const std::vector<Array> set = session.run({y, dx}, feeds);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_TRUE(equal(written[k], set[k])) << k;
}

// Whatever a loop does with a tensor that it carries and updates in place, it means what the body says.
class CarriedTest : public UpdateSliceTest {
 protected:
  // Five passes over {step, x [3, 2], more}.
  Tensors loop(const Tensor& more, const std::function<Tensors(X)>& body, int passes = 5) {
    return while_loop({constant(0), input(counting({3, 2})), more}, [=](X v) { return v[0] < passes; }, body);
  }
  static Tensor row(const Tensor& value) { return broadcast_to(cast(value, f32), {1, 2}); }
  std::vector<float> naive(int passes) {
    std::vector<float> x{0, 1, 2, 3, 4, 5};
    for (int i = 0; i < passes; ++i)
      x[2 * (static_cast<std::size_t>(i) % 3)] = x[2 * (static_cast<std::size_t>(i) % 3) + 1] = -static_cast<float>(i);
    return x;
  }
  static Tensor written(X v) { return update_slice(v[1], row(-v[0]), {floormod(v[0], 3), 0}); }
};

TEST_F(CarriedTest, EachPassWritesItsRow) {
  for (const int passes : {5, 1, 0}) {
    const Tensors end = loop(input(Array(0.f)), [](X v) { return Tensors{v[0] + 1, written(v), v[2]}; }, passes);
    EXPECT_EQ(floats(end[1]), naive(passes)) << passes;
  }
}

TEST_F(CarriedTest, ASessionCanRunTheLoopAgain) {
  const Tensors end = loop(input(Array(0.f)), [](X v) { return Tensors{v[0] + 1, written(v), v[2]}; });
  const Tensor again = loop(input(Array(0.f)), [](X v) { return Tensors{v[0] + 1, written(v), v[2]}; }, 2)[1];
  EXPECT_EQ(floats(end[1]), naive(5));
  EXPECT_EQ(floats(again), naive(2));
}

TEST_F(CarriedTest, WhatReadsTheOldValueSeesIt) {
  // The third tensor is x as it was before the last pass.
  const Tensors end = loop(input(counting({3, 2})), [](X v) { return Tensors{v[0] + 1, written(v), v[1]}; });
  EXPECT_EQ(floats(end[1]), naive(5));
  EXPECT_EQ(floats(end[2]), naive(4));
}

TEST_F(CarriedTest, TensorsMayChangePlaces) {
  const Tensors end =
      loop(input(Array::full(f32, {3, 2}, 9)), [](X v) { return Tensors{v[0] + 1, v[2], written(v)}; }, 3);
  std::vector<float> a{0, 1, 2, 3, 4, 5}, b(6, 9);
  for (int i = 0; i < 3; ++i) {
    for (const std::size_t k : {0u, 1u}) a[2 * static_cast<std::size_t>(i) + k] = -static_cast<float>(i);
    std::swap(a, b);
  }
  EXPECT_EQ(floats(end[1]), a);
  EXPECT_EQ(floats(end[2]), b);
}

TEST_F(CarriedTest, WhatIsComputedFromTheNewValueDoesNotTakeItsPlace) {
  const Tensor zero = input(Array::zeros(f32, {3, 2}));
  const Tensors updated = loop(zero, [](X v) {
    const Tensor now = written(v);
    return Tensors{v[0] + 1, now, exp(now)};
  });
  EXPECT_EQ(floats(updated[1]), naive(5));
  const Tensors kept = loop(zero, [](X v) { return Tensors{v[0] + 1, v[1], square(v[1])}; });
  EXPECT_EQ(floats(kept[1]), naive(0));
  EXPECT_EQ(floats(kept[2]), (std::vector<float>{0, 1, 4, 9, 16, 25}));
  const Tensors twice = loop(input(Array(0.f)), [](X v) {
    const Tensor now = written(v);
    return Tensors{v[0] + 1, now, v[2] + reduce_sum(update_slice(now, row(v[0] + 100), {2, 0}))};
  });
  EXPECT_EQ(floats(twice[1]), naive(5));
}

TEST_F(CarriedTest, TensorsThatNothingIsDoneToMayChangePlaces) {
  const Tensors swapped =
      loop(input(Array::full(f32, {3, 2}, 9)), [](X v) { return Tensors{v[0] + 1, v[2], v[1]}; }, 3);
  EXPECT_EQ(floats(swapped[1]), std::vector<float>(6, 9));
  EXPECT_EQ(floats(swapped[2]), naive(0));
  const Tensors rotated = while_loop(
      {constant(0), input(Array(1.f)), input(Array(2.f)), input(Array(3.f))}, [](X v) { return v[0] < 4; },
      [](X v) { return Tensors{v[0] + 1, v[3], v[1], v[2]}; });
  EXPECT_EQ(floats(stack({rotated[1], rotated[2], rotated[3]}, 0)), (std::vector<float>{3, 1, 2}));
}

TEST_F(CarriedTest, LoopsMayHoldLoopsAndBranches) {
  const Tensors nested = loop(
      input(Array(0.f)),
      [](X v) {
        const Tensor outer = v[0];
        const Tensors inner = while_loop(
            {constant(0), v[1]}, [&](X w) { return w[0] < outer; },
            [&](X w) { return Tensors{w[0] + 1, update_slice(w[1], row(outer * 10 + w[0]), {w[0], 0})}; });
        return Tensors{v[0] + 1, inner[1], v[2]};
      },
      3);
  EXPECT_EQ(floats(nested[1]), (std::vector<float>{20, 20, 21, 21, 4, 5}));
  const Tensors branched = loop(
      input(Array(0.f)),
      [](X v) {
        const Tensor even = equal(floormod(v[0], 2), 0);
        const auto put = [&] { return Tensors{update_slice(v[1], row(-v[0] - 10), {v[0], 0})}; };
        return Tensors{v[0] + 1, cond(even, put, [&] { return Tensors{v[1] * 2.f}; })[0], v[2]};
      },
      3);
  EXPECT_EQ(floats(branched[1]), (std::vector<float>{-20, -20, 4, 6, -12, -12}));
}

TEST_F(CarriedTest, GradientsGoThroughWhatALoopWrites) {
  const Tensor x = input(counting({3, 2})), y = input(Array::full(f32, {1, 2}, 3));
  const Tensor end = while_loop(
      {constant(0), x}, [](X v) { return v[0] < 2; },
      [&](X v) { return Tensors{v[0] + 1, update_slice(v[1] * 2.f, y * y, {v[0], 0})}; })[1];
  const Tensors g = gradients(reduce_sum(end), {x, y});
  EXPECT_EQ(floats(g[0]), (std::vector<float>{0, 0, 0, 0, 4, 4}));
  EXPECT_EQ(floats(g[1]), (std::vector<float>{18, 18}));  // rows 0 and 1 hold 2 y^2 and y^2
}

TEST_F(CarriedTest, FeedsMayLieAnywhereAndStayAsTheyAre) {
  const Tensor x = placeholder(f32, {3, 2}), w = placeholder(f32, {3, 2});
  const Tensor end = while_loop(
      {constant(0), x}, [](X v) { return v[0] < 3; }, [&](X v) { return Tensors{v[0] + 1, written(v) + w}; })[1];
  Session session(graph);
  std::vector<float> memory(64);
  for (const std::size_t shift : {1u, 3u, 0u, 2u}) {
    std::ranges::fill(memory, 0.f);
    for (std::size_t i = 0; i < 6; ++i) memory[shift + i] = static_cast<float>(i);
    const Array out = session.run(end, {{x, Array(f32, Shape{3, 2}, memory.data() + shift, nullptr)},
                                        {w, Array(f32, Shape{3, 2}, memory.data() + shift + 10, nullptr)}});
    for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(out.item(i), static_cast<double>(-(i / 2)));
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(memory[shift + i], static_cast<float>(i));
  }
}

TEST_F(CarriedTest, AConditionMayReadWhatIsUpdatedInPlace) {
  const Tensors end = while_loop(
      {constant(0), input(counting({3, 2}))},
      [](X v) { return reshape(slice(v[1], {2, 0}, {1, 1}), Ints{}) >= 0.f; },  // until row 2 is written with -2
      [](X v) { return Tensors{v[0] + 1, written(v)}; });
  EXPECT_EQ(floats(end[1]), naive(3));
}

TEST_F(CarriedTest, WhatALoopCapturesIsReadWhereItLies) {
  const Tensor w = input(counting({3, 2}));
  const Tensors end = loop(input(Array(0.f)), [&](X v) { return Tensors{v[0] + 1, v[1] + w * 2.f, v[2]}; }, 3);
  EXPECT_EQ(floats(end[1]), (std::vector<float>{0, 7, 14, 21, 28, 35}));
}

}  // namespace
}  // namespace belfry
