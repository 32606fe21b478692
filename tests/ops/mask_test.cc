#include "belfry/ops/mask.h"

#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/control_flow.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/unique.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

class MaskTest : public OpTest {
 protected:
  Tensor x = placeholder(f32, {kAny, 2}, "x");
  Session session{graph};
  // Rows 0, 1, 2, ... of which those are kept whose first element is in the set.
  static Array mask_of(const std::vector<bool>& kept) {
    Array out(boolean, {static_cast<std::int64_t>(kept.size())});
    for (std::size_t i = 0; i < kept.size(); ++i) out.set_item(static_cast<std::int64_t>(i), kept[i]);
    return out;
  }
};

TEST_F(MaskTest, KeepsWhatIsTrueWhateverTheNumber) {
  const Tensor mask = placeholder(boolean, {kAny}, "mask"), y = boolean_mask(x, mask), sum = reduce_sum(y * 2.f);
  EXPECT_EQ(to_string(y.shape()), "[?, 2]");
  for (const std::vector<bool>& kept : std::vector<std::vector<bool>>{{true, false, true},
                                                                      {false, false, false},
                                                                      {true, true, true},
                                                                      {},
                                                                      {true},
                                                                      {false, true, true, true},
                                                                      {true, false, true}}) {
    const auto n = static_cast<std::int64_t>(kept.size());
    const std::vector<Array> got = session.run({y, sum}, {{x, counting({n, 2})}, {mask, mask_of(kept)}});
    std::vector<float> rows;
    float total = 0;
    for (std::size_t i = 0; i < kept.size(); ++i)
      for (int k = 0; k < 2 && kept[i]; ++k) {
        rows.push_back(static_cast<float>(2 * static_cast<int>(i) + k));
        total += 2 * rows.back();
      }
    const auto values = got[0].values<float>();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()), rows);
    EXPECT_EQ(got[0].shape()[0] * 2, static_cast<std::int64_t>(rows.size()));
    EXPECT_EQ(got[1].item(), total);
  }
}

TEST_F(MaskTest, AMaskOfSeveralAxesJoinsThem) {
  const Tensor y = boolean_mask(x, x > 2.f);
  EXPECT_EQ(to_string(y.shape()), "[?]");
  EXPECT_EQ(values<float>(y, {{x, counting({3, 2})}}), (std::vector<float>{3, 4, 5}));
  const Tensor columns = boolean_mask(x, constant(Array::of<bool>({2}, {false, true})), {.axis = 1});
  EXPECT_EQ(values<float>(columns, {{x, counting({3, 2})}}), (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(to_string(run(columns, {{x, counting({3, 2})}}).shape()), "[3, 1]");
}

TEST_F(MaskTest, TheGradientGoesBackToWhatWasKept) {
  const Tensor kept = boolean_mask(square(x), x > 2.f);
  const Tensor grad = gradients({reduce_sum(kept * kept)}, {x})[0];
  for (std::int64_t n : {3, 1, 4, 0, 3}) {
    const Array got = session.run(grad, {{x, counting({n, 2})}});
    ASSERT_EQ(to_string(got.shape()), to_string(Shape{n, 2}));
    for (std::int64_t i = 0; i < got.elements(); ++i) {
      const auto v = static_cast<double>(i);
      EXPECT_EQ(got.item(i), v > 2 ? 4 * v * v * v : 0) << i << " of " << n;
    }
  }
}

// Two of three are true, whatever is fed; what is not read from a feed would be known without a run.
Tensor two_of_three(const Tensor& x) {
  const Tensor places = reshape(range(0, reduce_prod(shape_of(x))), shape_of(x));
  return stop_gradient(x) * 0.f + cast(floormod(places, 3), x.dtype()) > 0.5f;
}

using X = const Tensors&;
const bool mask_rows[] = {
    gradient_row("BooleanMask", {"Gather"}, [](X x) { return boolean_mask(square(x[0]), two_of_three(x[1])); },
                 {{{4, 2}, {4}}, {{1, 2}, {1}}, {{0, 2}, {0}}}),
    gradient_row("BooleanMaskOfColumns", {"Gather", "GatherGrad"},
                 [](X x) { return boolean_mask(square(x[0]), two_of_three(x[1]), {.axis = 1}); },
                 {{{2, 5}, {5}}, {{0, 3}, {3}}, {{3, 1}, {1}}}),
    gradient_row("BooleanMaskOfTwoAxes", {"Gather"}, [](X x) { return boolean_mask(square(x[0]), two_of_three(x[1])); },
                 {{{3, 2, 2}, {3, 2}}, {{0, 2, 1}, {0, 2}}, {{1, 2}, {1, 2}}}),
    gradient_row("MaskOfSequences", {"Gather"},
                 [](X x) { return boolean_mask(square(x[0]), sequence_mask(size_of(x[0], 0) / 2, size_of(x[0], 0))); },
                 {{{4, 2}}, {{1, 2}}, {{0, 2}}}),
};

TEST_F(MaskTest, SequencesAreMaskedByTheirLengths) {
  const Tensor lengths = placeholder(i32, {kAny}, "lengths");
  const Tensor four = sequence_mask(lengths, 4), longest = sequence_mask(lengths),
               rows = sequence_mask(lengths, size_of(x, 0));
  EXPECT_EQ(to_string(four.shape()), "[?, 4]");
  EXPECT_EQ(to_string(longest.shape()), "[?, ?]");
  for (const std::vector<std::int32_t>& now :
       std::vector<std::vector<std::int32_t>>{{2, 0, 5}, {1}, {}, {0, 0}, {3, 1, 4, 7}}) {
    Array fed(i32, {static_cast<std::int64_t>(now.size())});
    std::int32_t most = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      fed.set_item(static_cast<std::int64_t>(i), now[i]);
      most = std::max(most, now[i]);
    }
    const std::vector<Array> got = session.run({four, longest, rows}, {{lengths, fed}, {x, counting({6, 2})}});
    const std::int64_t steps[] = {4, most, 6};
    for (std::size_t k = 0; k < 3; ++k) {
      ASSERT_EQ(to_string(got[k].shape()), to_string(Shape{fed.elements(), steps[k]}));
      for (std::int64_t i = 0; i < got[k].elements(); ++i)
        EXPECT_EQ(got[k].item(i) != 0, i % steps[k] < now[static_cast<std::size_t>(i / steps[k])]) << k << " " << i;
    }
  }
  EXPECT_EQ(values<bool>(sequence_mask(constant(std::int64_t{1}), 3)), (std::vector<bool>{true, false, false}));
  const std::string text = error_of([&] { sequence_mask(x, 3); });
  EXPECT_NE(text.find("[sequence_mask] expected lengths of type i32 or i64, got 'x' f32 [?, 2]"), std::string::npos)
      << text;
}

TEST_F(MaskTest, NonzeroGivesIndices) {
  const Tensor places = nonzero(x > 2.f);
  EXPECT_EQ(values<std::int64_t>(places, {{x, counting({3, 2})}}), (std::vector<std::int64_t>{1, 1, 2, 0, 2, 1}));
  for (std::int64_t n : {1, 0, 4, 1})
    EXPECT_EQ(to_string(session.run(places, {{x, counting({n, 2})}}).shape()),
              to_string(Shape{std::max<std::int64_t>(2 * n - 3, 0), 2}));
}

TEST_F(MaskTest, UniqueHasTheLengthOfWhatItFinds) {
  const Tensor ids = placeholder(i32, {kAny}, "ids"), found = unique(ids);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(values<std::int32_t>(found, {{ids, Array::of<std::int32_t>({5}, {4, 2, 4, 9, 2})}}),
              (std::vector{4, 2, 9}));
    EXPECT_EQ(values<std::int32_t>(found, {{ids, Array::of<std::int32_t>({2}, {1, 1})}}), (std::vector{1}));
    EXPECT_EQ(run(found, {{ids, Array(i32, {0})}}).elements(), 0);
  }
}

// A fed number, a number computed by a second cut, and variables on both sides.
TEST_F(MaskTest, SizesMayFollowFromFeedsAndFromOneAnother) {
  const Tensor n = placeholder(i32, {}, "n");
  const Tensor first = ones({n, 2});
  const Tensor second = zeros({cast(reduce_sum(first), i64), n});
  const Tensor third = boolean_mask(second, reduce_sum(second, {.axes = {1}}) < 1.f);
  for (int k : {3, 1, 0, 2, 3}) {
    const std::vector<Array> got = session.run({first, third, n}, {{n, Array(k)}});
    EXPECT_EQ(to_string(got[0].shape()), to_string(Shape{k, 2}));
    EXPECT_EQ(to_string(got[1].shape()), to_string(Shape{2 * k, k}));
    EXPECT_EQ(got[2].item(), k);
  }
  const Tensor sizes = placeholder(i64, {3}, "sizes");
  EXPECT_EQ(to_string(session.run(zeros(sizes), {{sizes, Array::of<std::int64_t>({3}, {2, 0, 5})}}).shape()),
            "[2, 0, 5]");
}

TEST_F(MaskTest, AVariableIsReadAsItWasWhenTheRunStarted) {
  const Variable v = get_variable("v", {.shape = {}});
  const Tensor add = v.assign_add(1.f);
  const Tensor kept = boolean_mask(x, x > 0.f);
  const Tensor y = reduce_sum(kept) * 0.f + v.value();
  session.set_value(v, Array(1.f));
  for (int run = 1; run <= 3; ++run)
    EXPECT_EQ(session.run({Fetch(y), Fetch(Operation(add))}, {{x, counting({run, 2})}})[0].item(), run);
  EXPECT_EQ(session.value(v).item(), 4);
}

TEST_F(MaskTest, SizesThatComeAgainFindTheirPlan) {
  const Tensor y = boolean_mask(x, x > 2.f) * 2.f;
  const Callable call = session.make_callable({y}, {x});
  for (int round = 0; round < 3; ++round)
    for (float shift : {0.f, 2.f, 5.f}) {
      Array in = counting({3, 2});
      for (float& v : in.values<float>()) v += shift;
      const std::vector<Array> feeds{in};
      EXPECT_EQ(call(feeds)[0].elements(), std::min(6, 3 + static_cast<int>(shift)));
    }
  const std::vector<Array> feeds{counting({3, 2})};
  EXPECT_NE(error_of([&] { call.make_results(feeds); }).find("a run in which some follow from data"),
            std::string::npos);
  std::vector<Array> wrong{Array(f32, {2})};
  EXPECT_NE(error_of([&] { call(feeds, wrong); }).find("expected f32 [3] for the value of"), std::string::npos);
  std::vector<Array> right{Array(f32, {3})};
  call(feeds, right);
  EXPECT_EQ(right[0].item(2), 10);
}

TEST_F(MaskTest, ExplainSaysWhatIsPlannedLater) {
  const Tensor y = boolean_mask(x, x > 2.f) * 2.f;
  const std::string plan = session.explain({y}, {{x, counting({3, 2})}});
  EXPECT_NE(plan.find("then 1 more parts, planned when the sizes in 'PackSizes"), std::string::npos) << plan;
}

TEST_F(MaskTest, AMaskOfAnotherShapeIsAnErrorInARunToo) {
  const Tensor values = placeholder(f32, {kAny}), chosen = placeholder(boolean, {kAny});
  const Tensor rows = placeholder(f32, {kAny, kAny}), places = placeholder(boolean, {kAny, kAny});
  const Tensor some = boolean_mask(values, chosen), more = boolean_mask(rows, places);
  says([&] { run(some, {{values, counting({3})}, {chosen, Array::full(boolean, {2}, 1)}}); },
       "expected a mask of the shape of axes from 0 on of [3], got [2]");
  says([&] { run(more, {{rows, counting({2, 3})}, {places, Array::full(boolean, {3, 2}, 1)}}); },
       "expected a mask of the shape of axes from 0 on of [2, 3], got [3, 2]");
}

TEST_F(MaskTest, MistakesSayWhatIsWrong) {
  says([&] { boolean_mask(x, x); }, "[boolean_mask] expected a condition of type bool, got 'x' f32 [?, 2]");
  says([&] { boolean_mask(x, constant(Array::of<bool>({3}, {true, true, false})), {.axis = 1}); },
       "expected a mask of the shape of axes from 1 on of 'x' [?, 2]");
  says([&] { run(boolean_mask(x, constant(Array::of<bool>({3}, {true, true, true}))), {{x, counting({2, 2})}}); },
       "expected a mask of the shape of axes from 0 on of [2, 2], got [3]");
  says(
      [&] {
        run(cond(
                reduce_sum(x) > 0.f, [&] { return Tensors{reduce_sum(boolean_mask(x, x > 0.f))}; },
                [&] { return Tensors{constant(0.f)}; })[0],
            {{x, counting({2, 2})}});
      },
      "expected shapes that depend only on shapes inside cond(), while_loop() or scan(), got one that depends on data");
  says(
      [&] {
        run(while_loop(
                {constant(0.f)}, [](const Tensors& v) { return v[0] < 3.f; },
                [&](const Tensors& v) { return Tensors{v[0] + reduce_sum(boolean_mask(x, x > 0.f))}; })[0],
            {{x, counting({2, 2})}});
      },
      "(made at mask_test.cc:" + std::to_string(__LINE__ - 3) + ")");
}

}  // namespace
}  // namespace belfry
