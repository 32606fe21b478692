// Models that keep what they build in members, and the calls that only check the rules of tower functions.
#include <gtest/gtest.h>

#include "belfry/graph/collections.h"
#include "belfry/loop/run_op.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/train/model_desc.h"
#include "tests/session/session_testing.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

InputSourcePtr input() { return QueueInput(points(64) | batch(8)); }

Variable new_state() { return new_variable("state", {.shape = {}, .initializer = init::ones()}); }
Tensor cost_with(const Inputs& in, const Variable& state) {
  const Tensor y = in["x"] | fully_connected("fc", {.units = 1});
  return reduce_mean(square(y + state), "cost");
}

// Keeps its states, to reset them: in a list that only grows, and one that is made if there is none.
class StatefulModel final : public ModelDesc {
 public:
  explicit StatefulModel(int* calls = nullptr, double rate = 0.1) : calls_(calls), rate_(rate) {}
  std::vector<TensorSpec> inputs() const override { return kSignature; }
  Tensor build_graph(Inputs in) override {
    if (calls_ != nullptr) ++*calls_;
    states.push_back(new_state());
    if (!first) first = new_state();
    return cost_with(in, states.back()) + first;
  }
  std::unique_ptr<Optimizer> optimizer() override { return sgd({.learning_rate = rate_}); }

  std::vector<Variable> states;
  Variable first;

 private:
  int* calls_;
  double rate_;
};

// Keeps its states in a list outside.
GetCost keeping(std::vector<Variable>& states) {
  return [&states](const Inputs& in) {
    states.push_back(new_state());
    return cost_with(in, states.back());
  };
}

constexpr std::string_view kCause = " in a call of the tower function that only checks its rules, on a separate graph";

const TrainOptions kShort{.session_config = {.devices = {{1}}}, .steps_per_epoch = 2, .max_epoch = 1};

TEST(KeptHandlesTest, MembersOfAModelNeverSeeTheCallsThatCheck) {
  Graph graph;
  const GraphScope scope(graph);
  int calls = 0;
  const Handle<ModelDesc> made = model<StatefulModel>(&calls);
  const auto& members = dynamic_cast<const StatefulModel&>(*made);
  SimpleTrainer trainer;
  trainer.setup_graph(made, input());
  EXPECT_EQ(calls, 4);  // it was checked: three calls of another model
  ASSERT_EQ(members.states.size(), 1U);
  trainer.register_callback(RunOp([&] {
    std::vector<Operation> resets;
    for (const Variable& state : members.states) resets.emplace_back(state.assign(7.f));
    resets.emplace_back(members.first.assign(7.f));
    return group(resets, "reset");
  }));
  trainer.train(kShort);
  EXPECT_EQ(trainer.session().value(members.states[0]).item(), 7);
  EXPECT_EQ(trainer.session().value(members.first).item(), 7);
}

// What cannot be copied, or only moved into the model, makes one model.
class Unique final : public ModelDesc {
 public:
  explicit Unique(std::unique_ptr<int> number) : number(std::move(number)) {}
  std::vector<TensorSpec> inputs() const override { return kSignature; }
  Tensor build_graph(Inputs in) override { return cost_with(in, new_state()); }
  std::unique_ptr<Optimizer> optimizer() override { return make_momentum(); }
  std::unique_ptr<int> number;
};

TEST(KeptHandlesTest, AModelIsMadeAnewOfCopiesOfItsArguments) {
  int calls = 0;
  const Handle<ModelDesc> made = model<StatefulModel>(&calls, 0.5);
  ASSERT_TRUE(made->maker());
  EXPECT_NE(made->maker()(), made.shared());
  EXPECT_NE(dynamic_cast<StatefulModel*>(made->maker()().get()), nullptr);
  const Handle<ModelDesc> unique = model<Unique>(std::make_unique<int>(3));
  EXPECT_FALSE(unique->maker());
  EXPECT_EQ(*dynamic_cast<Unique&>(*unique).number, 3);
  EXPECT_FALSE(Handle<ModelDesc>(StatefulModel())->maker());
}

// Without model<M>(), the members see the calls that check. What they keep of those is refused, by name of the cause.
TEST(KeptHandlesTest, WhatIsKeptOfACallThatChecksIsRefusedWithTheCause) {
  Graph graph;
  const GraphScope scope(graph);
  SimpleTrainer trainer;
  const std::string text = error_of([&] { trainer.setup_graph(Handle<ModelDesc>(StatefulModel()), input()); });
  EXPECT_TRUE(contains(text,
                       "expected input 1 from the current graph, got 'state_1', which was made at "
                       "kept_handles_test.cc:"))
      << text;
  EXPECT_TRUE(contains(text, kCause)) << text;
  EXPECT_TRUE(
      text.ends_with("Let the function assign what it keeps again in each call with "
                     "get_current_tower_context().is_training(), instead of adding to a list or keeping what is "
                     "already set; or turn these calls off: .check_tower_rules = false."))
      << text;
}

TEST(KeptHandlesTest, ALambdaMayKeepThemInAListButNotUseThem) {
  Graph graph;
  const GraphScope scope(graph);
  std::vector<Variable> states;
  SimpleTrainer trainer;
  trainer.setup_graph(kSignature, input(), keeping(states), make_momentum);
  ASSERT_EQ(states.size(), 4U);
  EXPECT_TRUE(contains(error_of([&] { states[0].assign(7.f); }), kCause));
  EXPECT_TRUE(contains(error_of([&] { make_momentum()->minimize(trainer.get_tensor("cost"), states); }), kCause));
  trainer.register_callback(RunOp(Operation(states[0].initial_value())));
  const std::string text = error_of([&] { trainer.train(kShort); });  // before anything has run
  EXPECT_TRUE(text.starts_with("[RunOp] expected an op of the trainer's graph, got 'state/init/")) << text;
  EXPECT_TRUE(contains(text, kCause)) << text;
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST(KeptHandlesTest, AfterTheTrainerTheyAreHandlesIntoAGraphThatIsGone) {
  std::vector<Variable> states;
  {
    SimpleTrainer trainer;  // has its own graph
    trainer.setup_graph(kSignature, input(), keeping(states), make_momentum);
  }
  for (const Variable& state : states)
    EXPECT_TRUE(contains(error_of([&] { (void)state.name(); }), "whose graph is gone"));
}

TEST(KeptHandlesTest, TheCallsThatCheckCanBeTurnedOff) {
  for (const bool check : {true, false}) {
    int of_model = 0, of_function = 0;
    SimpleTrainer trainer, other;
    trainer.check_tower_rules = other.check_tower_rules = check;
    trainer.setup_graph(model<StatefulModel>(&of_model), input());
    const auto cost = [&](const Inputs& in) {
      ++of_function;
      return cost_with(in, new_state());
    };
    other.setup_graph(kSignature, input(), cost, make_momentum);
    EXPECT_EQ(of_model, check ? 4 : 1);
    EXPECT_EQ(of_function, check ? 4 : 1);
  }
}

TEST(KeptHandlesTest, ChecksThatWereSkippedSaySoWithTheReason) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable outside = get_variable("outside", {.shape = {6}});
  SimpleTrainer trainer;
  std::string log;
  const LogRedirect redirect([&](LogLevel, std::string_view line) { log += line; }, LogLevel::info);
  trainer.setup_graph(
      kSignature, input(),
      [&](const Inputs& in) { return reduce_mean((in["x"] * outside) | fully_connected("fc", {.units = 1})); },
      make_momentum);
  EXPECT_TRUE(contains(log,
                       "[tower ''] rules 1, 3 and 4 of tower functions were not checked in advance, because the "
                       "function cannot be called on a separate graph: [Mul 'Mul'] expected "
                       "input 1 from the current graph, got 'outside' of another graph"))
      << log;
}

}  // namespace
}  // namespace belfry
