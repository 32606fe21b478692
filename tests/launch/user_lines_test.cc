// Wrong programs through every public door: the line that an error names is the program's, never the library's.
#include <gtest/gtest.h>

#include <regex>

#include "belfry/belfry.h"
#include "tests/launch/launch_testing.h"

namespace belfry {
namespace {

const std::vector<TensorSpec> kPoints{{"x", f32, {kAny, 2}}};

Flow wrong_points() { return from_list({{Array::zeros(i32, {4, 2})}}); }
Flow right_points() { return from_list({{Array::zeros(f32, {4, 2})}}); }

// Beyond the table in a step, not before.
Tensor cost_beyond_the_table(const Inputs& in) {
  const Variable table = get_variable("table", {.shape = {2, 1}});
  return reduce_mean(gather(table, cast(in["x"] + 7.f, i32)));
}
Tensor good_cost(const Inputs& in) {
  return reduce_mean(square(in["x"] | fully_connected("fc", {.units = 1})), "cost");
}
std::unique_ptr<Optimizer> make_sgd() { return sgd({.learning_rate = 0.1f}); }

class UserLinesTest : public testing::Test {
 protected:
  // Every place that the text names is in this file, and there is one.
  static void expect_own_line(const std::string& text) {
    static const std::regex place(R"(([A-Za-z_0-9]+\.(cc|h)):([0-9]+))");
    int own = 0;
    for (auto at = std::sregex_iterator(text.begin(), text.end(), place); at != std::sregex_iterator(); ++at) {
      EXPECT_EQ((*at)[1], "user_lines_test.cc") << text;
      ++own;
    }
    EXPECT_GT(own, 0) << text;
    EXPECT_FALSE(contains(text, "unknown line")) << text;
  }
  template <class F>
  static void expect_own_line_of(F&& program) {
    Graph graph;
    const GraphScope scope(graph);
    expect_own_line(error_of(program));
  }
  template <class T>
  static void set_up(T& trainer, const InputSourcePtr& input, const GetCost& cost = good_cost) {
    trainer.setup_graph(kPoints, input, cost, make_sgd);
  }
  static std::string train(Trainer& trainer, const Callbacks& callbacks = {}, const SessionConfig& config = {}) {
    return trainer.train({.callbacks = callbacks, .session_config = config, .steps_per_epoch = 2, .max_epoch = 1});
  }
};

TEST_F(UserLinesTest, Layers) {
  const auto image = [] { return placeholder(f32, {kAny, 8, 8, 3}); };
  const auto rows = [] { return placeholder(f32, {kAny, 8}); };
  expect_own_line_of([&] { rows() | conv2d("c", {.filters = 4, .kernel = 3}); });
  expect_own_line_of([&] { image() | conv2d("c", {.filters = 0, .kernel = 3}); });
  expect_own_line_of([&] { image() | max_pool("p", 0); });
  expect_own_line_of([&] { rows() | max_pool("p", 2); });
  expect_own_line_of([&] { rows() | fully_connected("f", {.units = 0}); });
  expect_own_line_of([&] { placeholder(f32, {kAny}) | batch_norm("b"); });
  expect_own_line_of([&] { rows() | lstm("l", {.units = 4}); });
  expect_own_line_of([&] { rows() | gru("g", {.units = 4}); });
  expect_own_line_of([&] { rows() | embedding("e", {.rows = 10, .width = 4}); });
  expect_own_line_of([&] { rows() | multi_head_attention("a", {.heads = 3}); });
  expect_own_line_of([&] { rows() | dropout("d", 2.f); });
  expect_own_line_of([&] {
    rows() | fully_connected("f", {.units = 1});
    rows() | fully_connected("f", {.units = 2});
  });
}

TEST_F(UserLinesTest, Sessions) {
  const auto in_session = [](const std::function<void(Session&, const Tensor&)>& program) {
    expect_own_line_of([&] {
      const Tensor x = placeholder(f32, {kAny, 2}, "x");
      exp(x, "y");
      get_variable("v", {.shape = {2}});
      Session session(current_graph());
      program(session, x);
    });
  };
  const Array wrong = Array::zeros(i32, {1, 2});
  in_session([](Session& s, const Tensor&) { s.run("z"); });
  in_session([](Session& s, const Tensor&) { s.run("y"); });
  in_session([](Session& s, const Tensor&) { s.run("v"); });
  in_session([&](Session& s, const Tensor& x) { s.run("y", {{x, wrong}}); });
  in_session([&](Session& s, const Tensor& x) { s.explain({"y"}, {{x, wrong}}); });
  in_session([&](Session& s, const Tensor&) { s.explain_batch({"y"}, 0); });
  in_session([&](Session& s, const Tensor&) { s.make_callable({"y"}, {}); });
  in_session([&](Session& s, const Tensor&) { HookedSession(s).run("y"); });
  in_session([&](Session& s, const Tensor&) { HookedSession(s).explain(); });
  expect_own_line_of([] { Session(current_graph(), {.devices = {}}); });
}

TEST_F(UserLinesTest, PointsThatDoNotFit) {
  const auto with_input = [](const std::function<InputSourcePtr()>& make) {
    expect_own_line_of([&] {
      SimpleTrainer trainer;
      set_up(trainer, make());
      train(trainer);
    });
  };
  with_input([] { return QueueInput(wrong_points()); });
  with_input([] { return FeedInput(wrong_points()); });
  with_input([] { return StagingInput(QueueInput(wrong_points())); });
  with_input([] { return DummyConstantInput(); });
  with_input([] { return TensorInput([] { return Tensors{}; }); });
  with_input([] { return TensorInput([] { return Tensors{constant(Array::zeros(i32, {1, 2}))}; }); });
}

TEST_F(UserLinesTest, StepsOfEveryTrainer) {
  const auto with_trainer = [](auto make) {
    expect_own_line_of([&] {
      auto trainer = make();
      set_up(*trainer, QueueInput(right_points()), cost_beyond_the_table);
      train(*trainer, {}, {.devices = {{1}, {1}}});
    });
  };
  with_trainer([] { return std::make_unique<SimpleTrainer>(); });
  with_trainer([] { return std::make_unique<SyncMultiDeviceTrainerParameterServer>(cpu_devices(2)); });
  with_trainer([] { return std::make_unique<SyncMultiDeviceTrainerReplicated>(cpu_devices(2)); });
  with_trainer([] { return std::make_unique<AsyncMultiDeviceTrainer>(cpu_devices(2)); });
}

TEST_F(UserLinesTest, CallsOfTrainers) {
  const auto with_trainer = [](const std::function<void(SimpleTrainer&)>& program) {
    expect_own_line_of([&] {
      SimpleTrainer trainer;
      set_up(trainer, QueueInput(right_points()));
      program(trainer);
    });
  };
  with_trainer([](SimpleTrainer& t) { train(t, {}, {.devices = {}}); });
  with_trainer([](SimpleTrainer& t) { train(t, {}, {.devices = {{-1}}}); });
  with_trainer([](SimpleTrainer& t) { t.train({.steps_per_epoch = -1}); });
  with_trainer([](SimpleTrainer& t) { t.train({.steps_per_epoch = 1, .starting_epoch = 0}); });
  with_trainer([](SimpleTrainer& t) { t.train({.steps_per_epoch = 1, .starting_epoch = 3, .max_epoch = 2}); });
  with_trainer([](SimpleTrainer& t) { set_up(t, QueueInput(right_points())); });
  with_trainer([](SimpleTrainer& t) {
    t.setup_callbacks({});
    t.initialize({.devices = {}});
  });
  with_trainer([](SimpleTrainer& t) {
    t.setup_callbacks({});
    t.initialize();
    t.explain();
  });
  expect_own_line_of([] {
    Trainer trainer;
    train(trainer);
  });
  expect_own_line_of([] {
    Trainer trainer;
    trainer.train({});
  });
  expect_own_line_of([] { SyncMultiDeviceTrainerReplicated trainer(Devices{0, 0}); });
}

TEST_F(UserLinesTest, CallbacksThatRunSomething) {
  const auto with_callback = [](const std::function<Handle<Callback>()>& make) {
    expect_own_line_of([&] {
      SimpleTrainer trainer;
      set_up(trainer, QueueInput(right_points()));
      train(trainer, {make()});
    });
  };
  const auto fails_in_a_run = [] {
    return Operation(gather(get_variable("other", {.shape = {2}}), identity(constant(Array(std::int32_t{9})))));
  };
  with_callback([&] { return RunOp(fails_in_a_run, {.before_train = true}); });
  with_callback([&] { return RunOp(fails_in_a_run, {.along_with_step = true}); });
  with_callback([] { return InferenceRunner(wrong_points(), {ScalarStats("cost")}); });
}

TEST_F(UserLinesTest, Predictors) {
  expect_own_line_of([] {
    SimpleTrainer trainer;
    set_up(trainer, QueueInput(right_points()));
    const OnlinePredictor predict = trainer.get_predictor({"x"}, {"fc/output"});
    train(trainer);
    predict({Array::zeros(i32, {1, 2})});
  });
  expect_own_line_of([] { OnlinePredictor()({}); });
}

TEST_F(UserLinesTest, LaunchedTrainings) {
  const auto with_config = [](const std::function<void(TrainConfig&)>& change) {
    const testing_support::TempDir dir;
    expect_own_line_of([&] {
      SimpleTrainer trainer;
      TrainConfig c{.model = model<testing_support::Net>(), .max_epoch = 1, .run_dir = dir.path()};
      change(c);
      launch_train_with_config(std::move(c), trainer);
    });
  };
  with_config([](TrainConfig&) {});
  with_config([](TrainConfig& c) { c.model = {}; });
  with_config([](TrainConfig& c) { c.dataflow = wrong_points(); });
  with_config([](TrainConfig& c) {
    c.dataflow = testing_support::data() | batch(5);
    c.session_config.devices = {};
  });
}

}  // namespace
}  // namespace belfry
