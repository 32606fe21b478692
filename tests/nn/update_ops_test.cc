#include "belfry/nn/update_ops.h"

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class UpdateOpsTest : public NnTest {
 protected:
  Tensor normalised(const Tensor& x, const char* name) {
    return reduce_mean(square(x | fully_connected(std::string(name) + "_fc", {.units = 2}) | batch_norm(name)));
  }
  Names names_of(const std::vector<Operation>& operations) {
    Names out;
    for (const Operation& op : operations) out.push_back(op.name());
    return out;
  }
  std::vector<Operation> updates_for(const Tensor& cost, const std::vector<Variable>& variables) {
    return update_ops_for(sgd({.learning_rate = 0.1f})->compute_gradients(cost, variables));
  }
  std::vector<Operation> all() { return graph.collections().operations(collection::kUpdateOps); }

  const Tensor x = placeholder(f32, {kAny, 3}, "x");
};

TEST_F(UpdateOpsTest, TheTrainOperationMovesBatchNormsAverages) {
  Operation train;
  {
    const TrainTowerContext tower("");
    train = momentum({.learning_rate = 0.1f})->minimize(normalised(x, "bn"));
  }
  EXPECT_EQ(train.name(), "Momentum");
  Session session(graph);
  session.initialize();
  session.run(train, {{x, Array::full(f32, {4, 3}, 1)}});
  const Array mean = session.value(variable("bn/mean/EMA"));
  EXPECT_NE(mean.item(), 0);
  EXPECT_NEAR(session.value(variable("bn/variance/EMA")).item(), 0.9, 1e-6);  // the batch has none
}

TEST_F(UpdateOpsTest, OpsThatAreGroupedOrFetchedBesidesStillRunOnce) {
  Operation train;
  {
    const TrainTowerContext tower("");
    train = sgd({.learning_rate = 0.f})->minimize(normalised(x, "bn"));
  }
  std::vector<Operation> both = all();
  both.push_back(train);
  std::vector<Fetch> fetches(both.begin(), both.end());
  fetches.emplace_back(group(both));
  Session session(graph);
  session.initialize();
  session.run(fetches, {{x, Array::full(f32, {4, 3}, 1)}});
  EXPECT_NEAR(session.value(variable("bn/variance/EMA")).item(), 0.9, 1e-6);
}

TEST_F(UpdateOpsTest, ApplyingGradientsByHandTakesThemToo) {
  const TrainTowerContext tower("");
  const auto optimizer = sgd({.learning_rate = 0.1f});
  GradientsAndVariables gradients = optimizer->compute_gradients(normalised(x, "bn"));
  for (GradientAndVariable& item : gradients) item.gradient = item.gradient * 0.5f;
  const Operation train = optimizer->apply_gradients(gradients);
  ASSERT_EQ(all().size(), 2u);
  for (const Operation& update : all()) EXPECT_TRUE(depends(train.node(), update.node())) << update.name();
}

TEST_F(UpdateOpsTest, EachCostHasItsOwn) {
  const TrainTowerContext tower("");
  const Tensor other = placeholder(f32, {kAny, 3}, "other");
  const Tensor a = normalised(x, "a"), b = normalised(other, "b");
  const std::vector<Operation> updates = all();
  ASSERT_EQ(updates.size(), 4u);
  const auto of = [&](const Tensor& cost) {
    return names_of(updates_for(cost, graph.collections().variables(collection::kTrainableVariables)));
  };
  EXPECT_EQ(of(a), names_of({updates[0], updates[1]}));
  EXPECT_EQ(of(b), names_of({updates[2], updates[3]}));
  EXPECT_EQ(of(a + b), names_of(updates));
}

TEST_F(UpdateOpsTest, ADiscriminatorsStepLeavesTheGeneratorsAveragesAlone) {
  Tensor d_cost, g_cost;
  const Tensor real = placeholder(f32, {kAny, 2}, "real");
  {
    const TrainTowerContext tower("");
    const Tensor fake = x | fully_connected("g/fc", {.units = 2}) | batch_norm("g/bn");
    const auto discriminator = [&](const Tensor& image) { return reduce_mean(normalised(image, "d")); };
    const Tensor on_real = discriminator(real);
    const auto reused = VariableScope::reopen({.reuse = Reuse::yes});
    const Tensor on_fake = discriminator(fake);
    d_cost = on_real - on_fake;
    g_cost = on_fake;
  }
  const std::vector<Operation> updates = all();
  ASSERT_EQ(updates.size(), 6u);  // of g, of d for real images, of d for made ones
  const std::vector<Variable> g_vars{variable("g/fc/W"), variable("g/bn/gamma")},
      d_vars{variable("d_fc/W"), variable("d/gamma")};
  EXPECT_EQ(names_of(updates_for(d_cost, d_vars)), names_of({updates.begin() + 2, updates.end()}));
  EXPECT_EQ(names_of(updates_for(g_cost, g_vars)), names_of({updates[0], updates[1]})) << "d's need real images";
}

TEST_F(UpdateOpsTest, ABatchNormOnTheInputItselfMovesToo) {
  const TrainTowerContext tower("");
  const Tensor cost =
      reduce_mean(x | batch_norm("bn", {.center = false, .scale = false}) | fully_connected("fc", {.units = 1}));
  EXPECT_EQ(names_of(updates_for(cost, {variable("fc/W")})), names_of(all()));
}

TEST_F(UpdateOpsTest, ALayerThatIsUsedTwiceGoesOnFromItsFirstUpdate) {
  const auto layer = batch_norm("bn", {.momentum = 0.5});
  const Tensor other = placeholder(f32, {kAny, 3}, "other");
  Operation train;
  {
    const TrainTowerContext tower("");
    const Tensor first = x | layer;
    const auto reused = VariableScope::reopen({.reuse = Reuse::yes});
    train = sgd({.learning_rate = 0.f})->minimize(reduce_mean(first - (other | layer)));
  }
  const Feeds feeds{{x, Array::full(f32, {4, 3}, 8)}, {other, Array::full(f32, {4, 3}, 2)}};
  Session session(graph);
  session.initialize();
  session.run(train, feeds);
  const Variable mean = variable("bn/mean/EMA");
  EXPECT_EQ(session.value(mean).item(), 3);  // (0 -> 4 by the eights) -> 3 by the twos
  EXPECT_EQ(session.value(variable("bn/variance/EMA")).item(), 0.25);
  // By hand as well.
  session.initialize(true);
  session.run(group(all(), "by_hand"), feeds);
  EXPECT_EQ(session.value(mean).item(), 3);
  EXPECT_EQ(session.value(variable("bn/variance/EMA")).item(), 0.25);
}

TEST_F(UpdateOpsTest, OneThatHangsOnNoDataRunsAlong) {
  Operation train;
  const Variable count = new_variable("count", {.shape = {}});
  {
    const TrainTowerContext tower("");
    const Tensor cost = normalised(x, "bn");
    graph.collections().add(collection::kUpdateOps, Operation(count.assign_add(1.f)));
    train = sgd({.learning_rate = 0.f})->minimize(cost);
  }
  Session session(graph);
  session.initialize();
  for (int i = 0; i < 3; ++i) session.run(train, {{x, Array::full(f32, {4, 3}, 1)}});
  EXPECT_EQ(session.value(count).item(), 3);
}

TEST_F(UpdateOpsTest, OneThatNeedsAnotherInputOrHangsOnOtherVariablesIsLeftToTheUser) {
  const TrainTowerContext tower("");
  const Tensor cost = normalised(x, "bn"), other = placeholder(f32, {}, "other");
  const Variable w = variable("bn_fc/W"), state = new_variable("state", {.shape = {}}),
                 untrained = get_variable("untrained", {.shape = {}});
  Collections& collections = graph.collections();
  const Tensor from_both = state.assign(cost + other), of_others = untrained.assign(minimum(untrained, 1.f)),
               of_noise = state.assign(reduce_sum(random_normal({2}))), by_tensor = state.assign(cost * 2.f);
  collections.add(collection::kUpdateOps, Operation(from_both));
  collections.add(collection::kUpdateOps, Operation(of_others));
  collections.add(collection::kUpdateOps, Operation(of_noise));
  collections.add(collection::kUpdateOps, by_tensor);  // a tensor will do
  const std::vector<Operation> taken = updates_for(cost, {w});
  EXPECT_EQ(names_of(taken).size(), 3u);
  EXPECT_EQ(taken.back(), Operation(by_tensor));
  EXPECT_TRUE(update_ops_for({}).empty());
  EXPECT_TRUE(update_ops_for({{Tensor(), w}}).empty());
}

TEST_F(UpdateOpsTest, OfSeveralTowersThoseOfTheGradientsTowerAreTaken) {
  {
    const TrainTowerContext tower("", {.total = 2});
    normalised(x, "bn");
  }
  const TrainTowerContext tower("tower1", {.index = 1, .total = 2});
  const Tensor cost = normalised(x, "bn");
  const Variable state = new_variable("state", {.shape = {}});
  const Operation carry(state.assign(cost));
  graph.collections().add(collection::kUpdateOps, carry);
  EXPECT_EQ(updates_for(cost, {variable("bn_fc/W")}), std::vector<Operation>{carry});
}

}  // namespace
}  // namespace belfry
