// What a trainer of one's own is made of: towers on devices, several costs, averages.
#include "belfry/train/tower_gradients.h"

#include <gtest/gtest.h>

#include <set>

#include "belfry/base/parallel.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/sources/list.h"
#include "belfry/graph/node.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/nn/gradient_processor.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/activation.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/tower/tower_context.h"
#include "belfry/train/tower_trainer.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

const std::vector<TensorSpec> kTripleSignature{{"x", f32, {kAny, 3}}};

Flow triples() {
  std::vector<DataPoint> out;
  for (int i = 0; i < 32; ++i)
    out.push_back({Array::of<float>({3}, {i % 5 * 0.2f, i % 7 * 0.1f - 0.3f, i % 3 * 0.5f})});
  return from_list(std::move(out));
}

std::vector<Variable> variables_of(const TowerContext& tower, std::string_view layer) {
  std::vector<Variable> out = tower.trainable_variables();
  std::erase_if(out, [&](const Variable& v) { return !v.name().starts_with(layer); });
  return out;
}

// Two players: the one makes y, the other judges it.
class TwoCosts final : public TowerTrainer {
 public:
  TwoCosts(InputSourcePtr input, Devices on) : TowerTrainer(std::move(on)) {
    register_callbacks(input->setup(kTripleSignature));
    set_tower_func(
        [](const Inputs& in) {
          const Tensor y = in["x"] | fully_connected("make", {.units = 4, .activation = tanh});
          const Tensor score = y | fully_connected("judge", {.units = 1});
          return Tensors{reduce_mean(square(score - 1.f), "judge_cost"), reduce_mean(square(score + 1.f), "make_cost")};
        },
        kTripleSignature);
    const auto optimizer = momentum({.learning_rate = 0.1f});
    std::vector<GradientsAndVariables> judge, make;
    build_towers({.devices = devices()}, [&](const TowerContext& tower) {
      const Tensors costs = tower_func()(input->get_input_tensors());
      judge.push_back(optimizer->compute_gradients(costs[0], variables_of(tower, "judge")));
      make.push_back(optimizer->compute_gradients(costs[1], variables_of(tower, "make")));
    });
    train_op = group({optimizer->apply_gradients(average_gradients(judge, devices()), "judge_min"),
                      optimizer->apply_gradients(average_gradients(make, devices()), "make_min")});
  }
};

std::map<std::string, Array> train(int batch_size, const Devices& on, const SessionConfig& config) {
  Graph graph;
  const GraphScope scope(graph);
  TwoCosts trainer(QueueInput(triples() | batch(batch_size)), on);
  trainer.train({.session_config = config, .steps_per_epoch = 20, .max_epoch = 1});
  std::map<std::string, Array> out;
  for (const Variable& v : graph.collections().variables(collection::kTrainableVariables))
    out.emplace(v.name(), trainer.session().value(v));
  return out;
}

TEST(TowerGradientsTest, TwoCostsOnNTowersAreOneTowerWithNTimesTheBatch) {
  const auto one = train(8, {0}, {.devices = {{1}}}), two = train(4, {1, 0}, {.devices = {{1}, {1}}});
  ASSERT_EQ(one.size(), 4u);
  for (const auto& [name, value] : one)
    for (std::int64_t i = 0; i < value.elements(); ++i)
      EXPECT_NEAR(value.item(i), two.at(name).item(i), 1e-5 * (std::abs(value.item(i)) + 1)) << name << " " << i;
  for (const auto& [name, value] : train(4, {1, 0}, {.devices = {{1}, {1}}}))
    EXPECT_TRUE(equal(value, two.at(name))) << name;
}

TEST(TowerGradientsTest, ATrainerOfOnesOwnHasItsDevices) {
  Graph graph;
  const GraphScope scope(graph);
  TwoCosts trainer(QueueInput(triples() | batch(4)), {1, 0});
  EXPECT_EQ(trainer.devices(), (Devices{0, 1}));
  std::set<std::string> homes;
  for (const Variable& v : graph.collections().variables(collection::kTrainableVariables))
    homes.insert(v.node()->device.name());
  EXPECT_EQ(homes, (std::set<std::string>{"cpu:0", "cpu:1"}));
  EXPECT_EQ(trainer.get_tensor("make_cost").name(), "tower0/make_cost");
  const OnlinePredictor predict = trainer.get_predictor({"x"}, {"make/output"}, 1);
  EXPECT_TRUE(contains(error_of([&] { trainer.get_predictor({"x"}, {"make/output"}, 2); }),
                       "[get_predictor] expected a device among cpu:0, cpu:1, got cpu:2."));
  // The cores are divided between the devices, where there are as many.
  const SessionConfig config = hardware_threads() >= 2 ? SessionConfig{} : SessionConfig{.devices = {{1}, {1}}};
  trainer.train({.session_config = config, .steps_per_epoch = 1, .max_epoch = 1});
  EXPECT_EQ(predict({Array::zeros(f32, {2, 3})})[0].shape(), (Shape{2, 4}));
}

TEST(TowerGradientsTest, TheAverageKeepsWhatBelongsToTheVariable) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable a = get_variable("a", {.shape = {2}}), b = get_variable("b", {.shape = {3}});
  const auto gradients = [&](double value) {
    return GradientsAndVariables{{fill({2}, value), a, 0.5}, {Tensor(), b, 1}};
  };
  const GradientsAndVariables mean = average_gradients({gradients(1), gradients(2), gradients(6)}, {0});
  ASSERT_EQ(mean.size(), 2u);
  EXPECT_EQ(mean[0].variable, a);
  EXPECT_EQ(mean[0].learning_rate_scale, 0.5);
  EXPECT_FALSE(mean[1].gradient);
  Session session(graph);
  EXPECT_FLOAT_EQ(static_cast<float>(session.run(mean[0].gradient).item(1)), 3.f);
}

// `a` and `b` have one shape: nothing but their names tells them apart.
TEST(TowerGradientsTest, VariablesMeetByNameInWhateverOrderTheTowersMakeThem) {
  Graph graph;
  const GraphScope scope(graph);
  std::vector<GradientsAndVariables> towers;
  const Devices devices{0, 1};
  build_towers({.devices = devices, .own_variables = true}, [&](const TowerContext& tower) {
    Variable a, b;
    const auto make = [](const char* name) { return get_variable(name, {.shape = {2}}); };
    if (tower.index() == 0) a = make("a"), b = make("b");
    if (tower.index() == 1) b = make("b"), a = make("a");
    GradientsAndVariables items{{fill({2}, 1 + tower.index()), a}, {fill({2}, 10 + tower.index()), b}};
    if (tower.index() == 1) std::swap(items[0], items[1]);
    towers.push_back(items);
  });
  const GradientsAndVariables mean = average_gradients(towers, devices);
  ASSERT_EQ(mean.size(), 2u);
  EXPECT_EQ(mean[0].variable.name(), "a");
  Session session(graph, {.devices = {{1}, {1}}});
  EXPECT_FLOAT_EQ(static_cast<float>(session.run(mean[0].gradient).item(0)), 1.5f);
  EXPECT_FLOAT_EQ(static_cast<float>(session.run(mean[1].gradient).item(0)), 10.5f);
  const auto by_tower = averages_by_tower(towers, devices, *sgd({.learning_rate = 1.f}));
  ASSERT_EQ(by_tower.size(), 2u);
  EXPECT_EQ(by_tower[0][0].variable.name(), "a");
  EXPECT_EQ(by_tower[1][0].variable.name(), "tower1/a");
  EXPECT_EQ(by_tower[1][1].variable.name(), "tower1/b");
  EXPECT_FLOAT_EQ(static_cast<float>(session.run(by_tower[1][0].gradient).item(0)), 1.5f);
  EXPECT_FLOAT_EQ(static_cast<float>(session.run(by_tower[1][1].gradient).item(0)), 10.5f);
}

// Three towers: 'large' has more than a third of the bytes, the others have not.
class AveragesByTowerTest : public testing::Test {
 protected:
  AveragesByTowerTest() {
    build_towers({.devices = devices_, .own_variables = true}, [&](const TowerContext& tower) {
      const auto item = [&](const char* name, std::int64_t size) {
        return GradientAndVariable{fill({size}, tower.index()), get_variable(name, {.shape = {size}})};
      };
      towers_.push_back({item("left", 10), item("large", 80), item("right", 10), item("next", 10)});
    });
  }
  std::vector<GradientsAndVariables> averages(const GradientProcessor& processor) {
    const auto optimizer = apply_grad_processors(sgd({.learning_rate = 1.f}), {processor});
    return averages_by_tower(towers_, devices_, *optimizer);
  }

  Graph graph_;
  const GraphScope scope_{graph_};
  const Devices devices_{0, 1, 2};
  std::vector<GradientsAndVariables> towers_;
};

TEST_F(AveragesByTowerTest, OnlyWhatWouldKeepTheOthersWaitingIsMadeInEveryTower) {
  const auto all = averages([](const GradientsAndVariables& g) { return g; });
  EXPECT_EQ(all[0][0].gradient, all[2][0].gradient);
  EXPECT_EQ(all[0][2].gradient, all[2][2].gradient);
  for (std::size_t t = 0; t < 3; ++t)
    EXPECT_EQ(all[t][1].gradient.node()->device, Device(static_cast<int>(t))) << "tower " << t;
}

TEST_F(AveragesByTowerTest, WhatIsMadeOnceIsSpreadOverAllDevices) {
  const auto all = averages([](const GradientsAndVariables& g) { return g; });
  std::set<std::string> used;
  for (const std::size_t v : {0, 2, 3}) used.insert(all[0][v].gradient.node()->device.name());
  EXPECT_EQ(used, (std::set<std::string>{"cpu:0", "cpu:1", "cpu:2"}));
}

TEST_F(AveragesByTowerTest, WhatIsProcessedIsProcessedOnce) {
  const auto all = averages([](GradientsAndVariables g) {
    g[1].gradient = g[1].gradient * 2;
    return g;
  });
  EXPECT_EQ(all[0][1].gradient, all[1][1].gradient);
  EXPECT_EQ(all[0][1].gradient, all[2][1].gradient);
}

// The ops of the processors, by what goes over all elements of a gradient.
TEST_F(AveragesByTowerTest, ProcessorsWorkWhereTheAveragesAreMade) {
  const struct {
    const char* op;
    GradientProcessor processor;
  } cases[] = {{"Mul", global_norm_clip(1)},
               {"SumSquares", global_norm_clip(1)},
               {"Mul", scale_gradient({{".*", 0.5}})},
               {"CheckNumerics", check_gradient()},
               {"ClipByValue", clip_gradient_by_value(0.5)},
               {"SumSquares", summary_gradient()},
               {"RandomNormal", gradient_noise({.stddev = 1})},
               {"Tanh", map_gradient(".*", [](const Tensor& g, const Variable&) { return tanh(g); })}};
  const auto devices_of = [&](const auto& item) {
    std::set<std::string> out;
    const auto before = static_cast<std::ptrdiff_t>(graph_.nodes().size());
    averages(item.processor);
    for (auto node = graph_.nodes().begin() + before; node != graph_.nodes().end(); ++node)
      if ((*node)->def->name == item.op && !(*node)->name.starts_with("average_gradients"))
        out.insert((*node)->device.name());
    return out;
  };
  for (const auto& item : cases) {
    EXPECT_EQ(devices_of(item), (std::set<std::string>{"cpu:0", "cpu:1", "cpu:2"})) << item.op;
    const DeviceScope user("cpu:1");
    EXPECT_EQ(devices_of(item), (std::set<std::string>{"cpu:1"})) << item.op;
  }
}

TEST_F(AveragesByTowerTest, AProcessorMayNotAddVariables) {
  const Variable alone = get_variable("alone", {.shape = {2}});
  const auto add = [&](GradientsAndVariables g) {
    g.push_back({fill({2}, 1), alone});
    return g;
  };
  EXPECT_TRUE(contains(error_of([&] { averages(add); }),
                       "[averages_by_tower] expected gradients of variables that every tower has, got one of 'alone', "
                       "of which the towers have no copy. A gradient processor must not add variables."));
}

TEST_F(AveragesByTowerTest, EveryTowerMustHaveADevice) {
  const auto optimizer = sgd({.learning_rate = 1.f});
  EXPECT_TRUE(contains(error_of([&] { averages_by_tower(towers_, {0, 1}, *optimizer); }),
                       "[averages_by_tower] expected a device for each tower, got 3 towers and 2 devices. Pass the "
                       "devices that the towers were built on, in the same order."));
  EXPECT_TRUE(contains(error_of([&] { average_gradients(towers_, {}); }),
                       "[average_gradients] expected at least one device, got none."));
}

TEST(TowerGradientsTest, TheAverageForASharedVariableIsMadeWhereItLives) {
  Graph graph;
  const GraphScope scope(graph);
  std::vector<GradientsAndVariables> towers;
  // The second is not trained: by bytes alone the third's average would go elsewhere than the third.
  build_towers({.devices = {0, 1}}, [&](const TowerContext& tower) {
    const Variable first = get_variable("first", {.shape = {4}});
    get_variable("second", {.shape = {8}, .trainable = false});
    const Variable third = get_variable("third", {.shape = {2}});
    towers.push_back({{fill({4}, tower.index()), first}, {fill({2}, tower.index()), third}});
  });
  for (const GradientAndVariable& item : average_gradients(towers, {0, 1}))
    EXPECT_EQ(item.gradient.node()->device, item.variable.node()->device) << item.variable.name();
}

TEST(TowerGradientsTest, TowersMustAgreeOnTheVariables) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable a = get_variable("a", {.shape = {2}}), b = get_variable("b", {.shape = {3}});
  const Tensor to_a = fill({2}, 1), to_b = fill({3}, 1);
  EXPECT_TRUE(contains(error_of([&] { average_gradients({{{to_a, a}, {to_b, b}}, {{to_a, a}}}, {0}); }),
                       "[average_gradients] expected gradients for the same variables in every tower, got 'b' only in "
                       "the first tower and none only in tower 1."));
  EXPECT_TRUE(contains(error_of([&] { average_gradients({{{to_a, a}}, {{to_b, b}}}, {0}); }),
                       "got 'a' only in the first tower and 'b' only in tower 1."));
  EXPECT_TRUE(contains(error_of([&] { average_gradients({{{to_a, a}}, {{Tensor(), a}}}, {0}); }),
                       "got some with and some without for 'a'."));
  EXPECT_TRUE(contains(error_of([] { average_gradients({}, {0}); }),
                       "[average_gradients] expected the gradients of at least one tower, got none."));
}

}  // namespace
}  // namespace belfry
