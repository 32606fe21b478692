// Optimizers update only the rows of a table that were looked up; every_optimizer_test.cc has what all of them do.
#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class SparseGradientsTest : public NnTest {
 protected:
  Variable table = get_variable("table", {.shape = {5, 2}, .initializer = init::ones()});
  Tensor ids = placeholder(i32, {kAny});
  Tensor cost() { return reduce_sum(square(gather(table, ids))); }

  static Array of(std::initializer_list<std::int32_t> values) {
    return Array::of<std::int32_t>({static_cast<std::int64_t>(values.size())}, values);
  }
};

TEST_F(SparseGradientsTest, RowsLookedUpTwiceMoveByTheirSumAndOthersNotAtAll) {
  const Operation train = sgd({.learning_rate = 0.25f})->minimize(cost());
  Session session(graph);
  session.initialize();
  session.run(train, {{ids, of({1, 3, 1})}});
  const Array value = session.value(table);
  for (int row = 0; row < 5; ++row)
    for (int i = 0; i < 2; ++i) EXPECT_EQ(value.item(row * 2 + i), row == 1 ? 0 : row == 3 ? 0.5 : 1) << row;
}

TEST_F(SparseGradientsTest, ADensePartOfTheCostMakesTheUpdateDense) {
  const Operation train = sgd({.learning_rate = 0.25f})->minimize(cost() + reduce_sum(table));
  Session session(graph);
  session.initialize();
  session.run(train, {{ids, of({1})}});
  EXPECT_EQ(session.value(table).item(0), 0.75);
  EXPECT_EQ(session.value(table).item(2), 0.25);
}

TEST_F(SparseGradientsTest, TheSlotsOfOtherRowsStandStill) {
  const Operation train = momentum({.learning_rate = 0.25f})->minimize(cost());
  Session session(graph);
  session.initialize();
  session.run(train, {{ids, of({1})}});
  session.run(train, {{ids, of({2})}});
  const Array slot = session.value(variable("table/Momentum/accumulator"));
  EXPECT_EQ(slot.item(0), 0);
  EXPECT_EQ(slot.item(2), 2);  // not decayed by the second step
  EXPECT_EQ(slot.item(4), 2);
  EXPECT_EQ(session.value(table).item(2), 0.5);
}

}  // namespace
}  // namespace belfry
