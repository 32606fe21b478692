#include "belfry/nn/lookahead.h"

#include "belfry/session/session_init.h"
#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class LookaheadTest : public NnTest {
 protected:
  Variable w = get_variable("w", {.shape = {3}, .initializer = init::constant(2)});
  Tensor cost() { return reduce_sum(square(w)); }
};

TEST_F(LookaheadTest, SlowWeightsMoveEachPeriodAndTheFastOnesStartFromThere) {
  const Operation train =
      lookahead(momentum({.learning_rate = 0.1f, .momentum = 0.5}), {.period = 3, .alpha = 0.25})->minimize(cost());
  EXPECT_EQ(train.name(), "Lookahead");
  EXPECT_EQ(in(collection::kGlobalVariables),
            (Names{"w", "Lookahead/count", "w/Momentum/accumulator", "w/Lookahead/slow"}));
  EXPECT_EQ(in(collection::kTrainableVariables), Names{"w"});
  Session session(graph);
  session.initialize();
  double fast = 2, slow = 2, accumulator = 0;
  for (int i = 1; i <= 10; ++i) {
    session.run(train);
    accumulator = 0.5 * accumulator + 2 * fast;
    fast -= 0.1 * accumulator;
    if (i % 3 == 0) fast = slow += 0.25 * (fast - slow);
    EXPECT_NEAR(session.value(w).item(1), fast, 1e-5) << i;
    EXPECT_NEAR(session.value(variable("w/Lookahead/slow")).item(1), slow, 1e-5) << i;
  }
}

TEST_F(LookaheadTest, AnAlphaOfOneIsTheOptimizerAlone) {
  const Variable alone = get_variable("alone", {.shape = {3}, .initializer = init::constant(2)});
  const Operation train = lookahead(adam({.learning_rate = 0.1f}), {.period = 2, .alpha = 1})->minimize(cost(), {w}),
                  other = adam({.learning_rate = 0.1f})->minimize(reduce_sum(square(alone)), {alone});
  Session session(graph);
  session.initialize();
  for (int i = 0; i < 5; ++i) session.run({train, other});
  EXPECT_NEAR(session.value(w).item(), session.value(alone).item(), 1e-6);
}

// Weights that come from elsewhere, without slow ones: those start from them, not from the initialiser's value.
TEST_F(LookaheadTest, SlowWeightsFollowRestoredOnes) {
  const Operation train = lookahead(sgd({.learning_rate = 0.f}), {.period = 1, .alpha = 0.5})->minimize(cost(), {w});
  Session session(graph);
  session.initialize();
  const InitReport report = DictRestore({{"w", Array::full(f32, {3}, 100)}}).init(session);
  EXPECT_EQ(report.restored, (std::vector<std::string>{"w", "w/Lookahead/slow"}));
  session.run(train);
  EXPECT_EQ(session.value(w).item(), 100);
}

TEST_F(LookaheadTest, MistakesAreSaid) {
  EXPECT_EQ(error_of([&] {
              lookahead(adam(), {.period = 0});
            }).find("[lookahead] expected a period of 1 or more, got 0 (at lookahead_test.cc:"),
            0u);
  EXPECT_EQ(error_of([&] {
              lookahead(adam(), {.alpha = 0});
            }).find("[lookahead] expected alpha in (0, 1], got 0 (at lookahead_test.cc:"),
            0u);
}

}  // namespace
}  // namespace belfry
