#include "belfry/ops/control_flow.h"

#include <set>

#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;
const bool control_flow_rows[] = {
    gradient_row("CondThen", {"Cond"},
                 [](X x) {
                   return cond(
                       less(reduce_sum(x[0]), 1e6), [&] { return Tensors{square(x[0]) * x[1]}; },
                       [&] { return Tensors{x[0]}; })[0];
                 },
                 {{{2, 3}, {3}}, {{4}, {}}, {{0, 3}, {3}}}),
    gradient_row("CondElse", {"Cond"},
                 [](X x) {
                   return cond(
                       greater(reduce_sum(x[0]), 1e6), [&] { return Tensors{x[0]}; },
                       [&] { return Tensors{matmul(x[0], x[1])}; })[0];
                 },
                 {{{2, 2}, {2, 2}}}),
    gradient_row("While", {"While"},
                 [](X x) {
                   return while_loop(
                       {constant(0), x[0]}, [](X v) { return less(v[0], 4); },
                       [&](X v) { return Tensors{v[0] + 1, tanh(matmul(v[1], x[1]))}; })[1];
                 },
                 {{{2, 3}, {3, 3}}, {{0, 3}, {3, 3}}}, {.second_order = false}),
};

class ControlFlowTest : public OpTest {
 protected:
  Tensor number(float value) { return input(Array(value)); }
};

// A vector of tensors would take {2, x} for two copies of x.
template <class First>
concept StartsALoop = requires(First first, Tensor x, Tensor (*condition)(const Tensors&),
                               Tensors (*body)(const Tensors&)) { while_loop({first, x}, condition, body); };
static_assert(StartsALoop<Tensor> && !StartsALoop<int>);

TEST_F(ControlFlowTest, CondRunsTheBranchThatThePredicateChooses) {
  const Tensor x = number(3), big = placeholder({"big", boolean, {}});
  const Tensor y = cond(big, [&] { return Tensors{x * 10.f}; }, [&] { return Tensors{x - 1.f}; })[0];
  EXPECT_EQ(floats(y, {{big, Array(true)}}), (std::vector<float>{30}));
  EXPECT_EQ(floats(y, {{big, Array(false)}}), (std::vector<float>{2}));
}

TEST_F(ControlFlowTest, ABranchThatIsNotChosenDoesNotRun) {
  const Tensor x = number(-1), big = placeholder({"big", boolean, {}});
  static int ran;
  ran = 0;
  static const OpRegistration counts = define_op("TestCountsBranchRuns")
                                           .input("x")
                                           .output("y")
                                           .shape([](const ShapeContext& c) { return c.input(0); })
                                           .not_differentiable()
                                           .kernel([](std::span<const Array> in, std::span<Array> out) {
                                             ++ran;
                                             out[0].set_item(0, in[0].item());
                                           })
                                           .doc("Counts its runs.");
  const Tensor y = cond(big, [&] { return Tensors{add_tensor(counts, {x})}; }, [&] { return Tensors{x}; })[0];
  run(y, {{big, Array(false)}});
  EXPECT_EQ(ran, 0);
  run(y, {{big, Array(true)}});
  EXPECT_EQ(ran, 1);
}

TEST_F(ControlFlowTest, CondMayBeNestedAndCapturesThroughTheLevels) {
  const Tensor x = number(5), y = number(7);
  const Tensor out = cond(
      greater(x, 0.f),
      [&] { return cond(greater(y, x), [&] { return Tensors{y - x}; }, [&] { return Tensors{x - y}; }); },
      [&] { return Tensors{x * y}; })[0];
  EXPECT_EQ(floats(out), (std::vector<float>{2}));
}

TEST_F(ControlFlowTest, CondGradientIsThatOfTheBranchThatRan) {
  const Tensor x = number(3), big = placeholder({"big", boolean, {}});
  const Tensor y = cond(big, [&] { return Tensors{x * x}; }, [&] { return Tensors{x * 4.f}; })[0];
  const Tensor dx = gradients({y}, {x})[0], ddx = gradients({dx}, {x})[0];
  EXPECT_EQ(floats(dx, {{big, Array(true)}}), (std::vector<float>{6}));
  EXPECT_EQ(floats(dx, {{big, Array(false)}}), (std::vector<float>{4}));
  EXPECT_EQ(floats(ddx, {{big, Array(true)}}), (std::vector<float>{2}));
  EXPECT_EQ(floats(ddx, {{big, Array(false)}}), (std::vector<float>{0}));
}

TEST_F(ControlFlowTest, BranchesOfDifferentTypesOrShapesAreAnError) {
  const Tensor x = number(3), yes = placeholder({"yes", boolean, {}});
  EXPECT_NE(error_of([&] {
              cond(yes, [&] { return Tensors{x}; }, [&] { return Tensors{cast(x, i32)}; });
            }).find("[cond] expected branches that give tensors of the same types, got f32 and i32 at index 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              cond(yes, [&] { return Tensors{x}; }, [&] { return Tensors{x, x}; });
            }).find("got 1 and 2 tensors"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              cond(x, [&] { return Tensors{x}; }, [&] { return Tensors{x}; });
            }).find("expected a bool scalar to decide, got f32 []"),
            std::string::npos);
}

TEST_F(ControlFlowTest, AnAssignmentInsideIsAnError) {
  const Variable v = get_variable("v", {.shape = {}});
  const Tensor yes = placeholder({"yes", boolean, {}});
  const std::string text =
      error_of([&] { cond(yes, [&] { return Tensors{v.assign_add(1.f)}; }, [&] { return Tensors{v}; }); });
  EXPECT_NE(text.find("expected no assignment inside cond(), while_loop(), scan() or the step of a cell, got one"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Return the new value and assign it outside"), std::string::npos) << text;
}

TEST_F(ControlFlowTest, AVariableMadeInsideBelongsToTheGraphOutside) {
  const Tensor x = input(counting({2, 2}));
  const Tensors end = while_loop(
      {constant(0), x}, [](const Tensors& v) { return less(v[0], 3); },
      [&](const Tensors& v) {
        const Variable w = get_variable("w", {.shape = {2, 2}, .initializer = [](const Shape& s, DType d) {
                                                return constant(Array::full(d, s, 0.5));
                                              }});
        return Tensors{v[0] + 1, matmul(v[1], w)};
      });
  ASSERT_EQ(graph.variables().size(), 1u);
  EXPECT_EQ(graph.variables()[0].name(), "w");
  Session session(graph);
  session.initialize();
  const Array out = session.run(end[1], {{x, counting({2, 2})}});
  for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(static_cast<float>(out.item(i)), i < 2 ? 0.5f : 2.5f);
}

TEST_F(ControlFlowTest, WhileRepeatsUntilTheConditionFails) {
  const Tensor limit = number(100);
  const Tensors end = while_loop(
      {constant(0), number(1)}, [&](const Tensors& v) { return less(v[1], limit); },
      [](const Tensors& v) { return Tensors{v[0] + 1, v[1] * 3.f}; });
  EXPECT_EQ(ints(end[0]), (std::vector<std::int32_t>{5}));
  EXPECT_EQ(floats(end[1]), (std::vector<float>{243}));
}

TEST_F(ControlFlowTest, WhileThatNeverBeginsGivesItsStart) {
  const Tensor x = number(7);
  const Tensors end = while_loop(
      {x}, [](const Tensors& v) { return less(v[0], 0.f); }, [](const Tensors& v) { return Tensors{v[0] * 2.f}; });
  EXPECT_EQ(floats(end[0]), (std::vector<float>{7}));
  EXPECT_EQ(floats(gradients({end[0]}, {x})[0]), (std::vector<float>{1}));
}

TEST_F(ControlFlowTest, WhileStopsAtItsLimit) {
  const Tensors end = while_loop(
      {number(1)}, [](const Tensors& v) { return greater(v[0], 0.f); },
      [](const Tensors& v) { return Tensors{v[0] * 2.f}; }, {.most = 4});
  EXPECT_EQ(floats(end[0]), (std::vector<float>{16}));
}

TEST_F(ControlFlowTest, SwappedLoopTensorsDoNotOverwriteEachOther) {
  const Tensors end = while_loop(
      {constant(0), number(1), number(2)}, [](const Tensors& v) { return less(v[0], 3); },
      [](const Tensors& v) { return Tensors{v[0] + 1, v[2], v[1]}; });
  EXPECT_EQ(floats(end[1]), (std::vector<float>{2}));
  EXPECT_EQ(floats(end[2]), (std::vector<float>{1}));
}

// The sum is updated where it lies; what is made of it afterwards may not take its place.
TEST_F(ControlFlowTest, ATensorThatIsCarriedInPlaceIsNotOverwrittenByWhatIsComputedFromIt) {
  const Tensor x = input(counting({4})), w = input(Array::of<float>({4, 4}, std::vector<float>(16, 0.5f)));
  const Tensors end = while_loop(
      {constant(0), x, zeros_like(x)}, [](const Tensors& v) { return less(v[0], 3); },
      [&](const Tensors& v) {
        const Tensor sum = sigmoid(matmul(expand_dims(v[2], 0), w)) + expand_dims(v[1], 0) * 0.5f;
        return Tensors{v[0] + 1, squeeze(sum, {0}), squeeze(sum - x, {0})};
      });
  std::vector<float> sum{0, 1, 2, 3}, last(4);
  for (int pass = 0; pass < 3; ++pass) {
    float product = 0;
    for (const float v : last) product += v * 0.5f;
    for (std::size_t i = 0; i < 4; ++i) {
      sum[i] = 1 / (1 + std::exp(-product)) + sum[i] * 0.5f;
      last[i] = sum[i] - static_cast<float>(i);
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(floats(end[1])[i], sum[i], 1e-5);
    EXPECT_NEAR(floats(end[2])[i], last[i], 1e-5);
  }
}

TEST_F(ControlFlowTest, WhileGradientReachesStartAndCaptures) {
  // y = x * w^n for n passes: dy/dx = w^n, dy/dw = n x w^(n-1)
  const Tensor x = number(2), w = number(3);
  const Tensor n = placeholder({"n", i32, {}});
  const Tensor y = while_loop(
      {constant(0), x}, [&](const Tensors& v) { return less(v[0], n); },
      [&](const Tensors& v) { return Tensors{v[0] + 1, v[1] * w}; })[1];
  const Tensors d = gradients({y}, {x, w});
  for (const int passes : {1, 4, 2}) {
    const Feeds feeds{{n, Array(passes)}};
    EXPECT_EQ(floats(y, feeds)[0], 2 * std::pow(3.f, static_cast<float>(passes)));
    EXPECT_EQ(floats(d[0], feeds)[0], std::pow(3.f, static_cast<float>(passes)));
    EXPECT_EQ(floats(d[1], feeds)[0], static_cast<float>(2 * passes) * std::pow(3.f, static_cast<float>(passes - 1)));
  }
}

TEST_F(ControlFlowTest, EveryPassDrawsItsOwnNumbersAndTheBackwardPassTheSame) {
  const Tensor x = input(Array::full(f32, {64}, 1));
  const Tensors end = while_loop(
      {constant(0), x}, [](const Tensors& v) { return less(v[0], 2); },
      [](const Tensors& v) { return Tensors{v[0] + 1, v[1] * random_uniform({64})}; });
  const Tensor dx = gradients({end[1]}, {x})[0];
  Session session(graph);
  const auto out = session.run({end[1], dx}, {{x, Array::full(f32, {64}, 1)}});
  EXPECT_TRUE(equal(out[0], out[1])) << "y = x r0 r1, so dy/dx = y where x = 1";
  std::set<float> roots;
  for (float v : out[0].values<float>()) roots.insert(std::sqrt(v));
  EXPECT_GT(roots.size(), 32u);
}

TEST_F(ControlFlowTest, ABodyThatChangesAShapeIsAnError) {
  const Tensor x = input(counting({2}));
  EXPECT_NE(error_of([&] {
              while_loop(
                  {x}, [](const Tensors& v) { return less(reduce_sum(v[0]), 1.f); },
                  [](const Tensors& v) { return Tensors{reduce_sum(v[0])}; });
            }).find("[while_loop] expected a body that keeps the loop's shapes, got [] for number 0 of [2]"),
            std::string::npos);
}

TEST_F(ControlFlowTest, AConditionThatIsNoBoolIsAnError) {
  const Tensor x = number(1);
  EXPECT_NE(error_of([&] {
              while_loop({x}, [](const Tensors& v) { return v[0]; }, [](const Tensors& v) { return v; });
            }).find("[while_loop] expected a condition that gives a bool scalar, got f32 []"),
            std::string::npos);
}

TEST_F(ControlFlowTest, TheSecondGradientOfALoopIsRefused) {
  const Tensor x = number(2);
  const Tensor y = while_loop(
      {constant(0), x}, [&](const Tensors& v) { return less(v[0], 2); },
      [&](const Tensors& v) { return Tensors{v[0] + 1, v[1] * v[1]}; })[1];
  const Tensor dx = gradients({y}, {x})[0];
  EXPECT_EQ(floats(dx)[0], 32);  // y = x^4
  EXPECT_NE(error_of([&] {
              gradients({dx}, {x});
            }).find("expected the first gradient of while_loop(), got one of its gradient"),
            std::string::npos);
}

}  // namespace
}  // namespace belfry
