// What engine/backend.h promises, shown on a backend that has nothing in common with the CPU's (engine/testing).
#include "belfry/engine/testing/test_backend.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/belfry.h"
#include "belfry/engine/testing/far_memory.h"
#include "belfry/ops/internal/cross_tower.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

SessionConfig on(std::vector<std::string> kinds) {
  SessionConfig out;
  out.devices.clear();
  for (std::string& kind : kinds) out.devices.push_back({.threads = 1, .kind = std::move(kind)});
  return out;
}

TEST(FarMemory, IsNotTheHosts) {
  FarArray far(f32, {4});
  const Array values = Array::full(f32, {4}, 3.f);
  far.put(values.raw());
  EXPECT_EQ(far.get().item(3), 3);
  EXPECT_DEATH((void)*static_cast<const volatile float*>(far.address()), "");
}

class TestBackendTest : public testing::Test {
 protected:
  // y = tanh(x W) with W on `device`, trained to give t: its cost and the update.
  struct Net {
    Tensor x, t, cost;
    Variable w;
    Operation train;
  };
  Net net(const Device& device) {
    const GraphScope scope(graph);
    const DeviceScope place(device);
    Net out;
    out.x = placeholder({"x", f32, {kAny, 3}});
    out.t = placeholder({"t", f32, {kAny, 2}});
    out.w = get_variable("w", {.shape = {3, 2}, .initializer = [](const Shape& s, DType d) {
                                 return constant(Array::full(d, s, 0.5f));
                               }});
    out.cost = reduce_mean(square(tanh(matmul(out.x, out.w)) - out.t));
    out.train = adam({.learning_rate = 0.1f})->minimize(out.cost);
    return out;
  }
  static std::vector<double> losses(Session& session, const Net& net, int steps) {
    std::vector<double> out;
    Array x(f32, {4, 3}), t(f32, {4, 2});
    for (std::int64_t i = 0; i < x.elements(); ++i) x.set_item(i, 0.1 * static_cast<double>(i % 7) - 0.3);
    for (std::int64_t i = 0; i < t.elements(); ++i) t.set_item(i, 0.2 * static_cast<double>(i % 3));
    for (int step = 0; step < steps; ++step)
      out.push_back(session.run({net.cost, net.train}, {{net.x, x}, {net.t, t}})[0].item());
    return out;
  }
  static void expect_near(const std::vector<double>& got, const std::vector<double>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5) << i;
  }

  Graph graph;
};

TEST_F(TestBackendTest, TrainsAsTheCpuDoes) {
  const Net here = net({});
  Session cpu(graph, on({"cpu"})), test(graph, on({"test"}));
  cpu.initialize();
  test.initialize();
  const std::vector<double> wanted = losses(cpu, here, 20);
  EXPECT_LT(wanted.back(), 0.3 * wanted.front());
  expect_near(losses(test, here, 20), wanted);
}

TEST_F(TestBackendTest, VariablesGoFromOneKindToTheOther) {
  const Net here = net({});
  Session cpu(graph, on({"cpu"})), test(graph, on({"test"}));
  cpu.initialize();
  losses(cpu, here, 5);
  const testing_support::TempDir directory;
  Saver(cpu, {.directory = directory.path()}).save(5);
  test.initialize();
  ContinueRun(directory.path()).init(test);
  expect_near(losses(test, here, 10), losses(cpu, here, 10));
  Saver(test, {.directory = directory.path()}).save(15);
  Session again(graph, on({"cpu"}));
  again.initialize();
  ContinueRun(directory.path()).init(again);
  EXPECT_EQ(again.value(here.w).item(3), test.value(here.w).item(3));
}

TEST_F(TestBackendTest, AnUnknownKindListsThoseThereAre) {
  EXPECT_TRUE(contains(error_of([] { DeviceScope("gpu:0"); }), "It has: cpu, test."));
  const int line = __LINE__ + 1;
  const std::string refused = error_of([&] { Session(graph, on({"cpu", "gpu"})); });
  EXPECT_EQ(refused, fmt::format("[Session] expected a kind of device that this program has, got \"gpu\". It has: cpu, "
                                 "test (called at test_backend_test.cc:{}).",
                                 line));
  const Net far = net("test:1");
  Session session(graph, on({"cpu", "test"}));
  EXPECT_TRUE(
      contains(error_of([&] { session.run(far.w.value()); }), "device of the session (cpu:0, test:0), got test:1"));
}

TEST_F(TestBackendTest, AnOpThatCannotBeCompiledIsAnErrorOfThePlan) {
  static const OpRegistration no_kernel = define_op("TestHasNoKernel")
                                              .input("x")
                                              .output("y")
                                              .shape([](const ShapeContext& c) { return c.input(0); })
                                              .not_differentiable()
                                              .doc("x, if anybody could compute it.");
  const GraphScope scope(graph);
  const Tensor x = placeholder({"x", f32, {2}});
  const int line = __LINE__ + 1;
  const Tensor y = add_tensor(no_kernel, {x}, {.name = "y"});
  Session session(graph, on({"test"}));
  const std::string text = error_of([&] { session.explain({y}, {{x, Array::zeros(f32, {2})}}); });
  EXPECT_TRUE(contains(text, "[TestHasNoKernel 'y'] expected an op with a kernel for test:0, got TestHasNoKernel"))
      << text;
  EXPECT_TRUE(contains(text, fmt::format("(made at test_backend_test.cc:{})", line))) << text;
}

TEST_F(TestBackendTest, ASumAcrossTowersOnBothKindsReachesBoth) {
  const GraphScope scope(graph);
  const Tensor x = placeholder({"x", f32, {2}});
  std::vector<Fetch> sums;
  for (int tower : {0, 1}) {
    const DeviceScope place(tower == 0 ? "cpu:0" : "test:0");
    const CrossTowerGroup group{.layer = "batch_norm", .name = "bn", .tower = tower, .total = 2};
    sums.emplace_back(cross_tower_sum(exp(x * (1.f + tower)), group) * 2.f);
  }
  Session session(graph, on({"cpu", "test"}));
  const std::vector<Array> got = session.run(sums, {{x, Array::full(f32, {2}, 0.5)}});
  for (const Array& sum : got) EXPECT_NEAR(sum.item(1), 2 * (std::exp(0.5) + std::exp(1.)), 1e-5);
}

// One tower on each kind of device, in the same step.
template <class T>
Trained towers_on(const Devices& devices) {
  Graph own;
  const GraphScope scope(own);
  T trainer(devices);
  trainer.setup_graph(
      kSignature, QueueInput(points(40) | batch(4)),
      [](Inputs in) {
        const Tensor hidden = fully_connected("fc0", {.units = 5, .activation = relu})(in["x"]);
        const Tensor logits = hidden | batch_norm("bn") | fully_connected("fc1", {.units = 2});
        return reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
      },
      make_momentum);
  trainer.train({.steps_per_epoch = 20, .max_epoch = 1});
  return weights_of(own, trainer.session());
}

TEST_F(TestBackendTest, TowersOnBothKindsAgreeWithTowersOnTheCpu) {
  if (hardware_threads() < 2) GTEST_SKIP() << "needs two cores";
  const Devices both{"cpu:0", "test:0"};
  expect_close(towers_on<SyncMultiDeviceTrainerReplicated>(both),
               towers_on<SyncMultiDeviceTrainerReplicated>(cpu_devices(2)), 200);
  expect_close(towers_on<SyncMultiDeviceTrainerParameterServer>(both),
               towers_on<SyncMultiDeviceTrainerParameterServer>(cpu_devices(2)), 200);
  EXPECT_TRUE(ops_run_on_test_devices().contains("ApplyMomentum"));
}

// A flag is read by the update itself: it has to be where the variable is.
TEST_F(TestBackendTest, AnUpdateAndItsFlagLiveOnOneKind) {
  const GraphScope scope(graph);
  const auto filled = [](const Shape& shape, DType dtype) { return constant(Array::full(dtype, shape, 1.f)); };
  Operation update;
  {
    const UpdateCondition only(constant(Array(true)));
    const DeviceScope place("test:0");
    update = Operation(get_variable("v", {.shape = {}, .initializer = filled}).assign_add(1.f));
  }
  Session session(graph, on({"cpu", "test"}));
  session.initialize();
  EXPECT_TRUE(contains(error_of([&] { session.run(update); }), "to live on one kind of device, got"));
}

TEST_F(TestBackendTest, CompanionsShareVariablesOfOneKindOnly) {
  Session session(graph, on({"cpu", "test"}));
  EXPECT_TRUE(
      contains(error_of([&] { (void)session.companion("test:0"); }),
               "[Session::companion] expected a device of the kind that the variables live on (cpu), got test:0"));
}

// Half of the model on each kind: activations, gradients and the rate cross in both directions.
TEST_F(TestBackendTest, AModelThatIsSplitBetweenBothTrains) {
  const auto train = [](const Device& lower, const Device& upper, const SessionConfig& config) {
    Graph own;
    const GraphScope scope(own);
    Tensor hidden, cost;
    const auto filled = [](const Shape& shape, DType dtype) { return constant(Array::full(dtype, shape, 0.2f)); };
    const Variable rate = get_variable("rate", {.shape = {}, .initializer = filled, .trainable = false});
    {
      const DeviceScope place(lower);
      const Variable a = get_variable("a", {.shape = {4, 8}});
      hidden = tanh(matmul(constant(Array::full(f32, {5, 4}, 0.3f)), a));
    }
    {
      const DeviceScope place(upper);
      const Variable b = get_variable("b", {.shape = {8, 1}});
      cost = reduce_mean(square(matmul(hidden, b) - 1.f));
    }
    const Operation step = sgd({.learning_rate = rate})->minimize(cost);
    Session session(own, config);
    session.initialize();
    std::vector<double> out;
    for (int i = 0; i < 15; ++i) out.push_back(session.run({cost, step})[0].item());
    return out;
  };
  const std::vector<double> whole = train("cpu:0", "cpu:0", on({"cpu"}));
  EXPECT_LT(whole.back(), 0.1 * whole.front());
  expect_near(train("cpu:0", "test:0", on({"cpu", "test"})), whole);
  expect_near(train("test:0", "cpu:0", on({"cpu", "test"})), whole);
  expect_near(train("test:0", "test:1", on({"test", "test"})), whole);
}

TEST_F(TestBackendTest, AFailureInAPartThatIsDoneLaterReachesTheCaller) {
  const GraphScope scope(graph);
  const Tensor x = placeholder({"x", f32, {2}});
  Tensor far;
  {
    const DeviceScope place("test:0");
    far = check_numerics(log(x), "far");
  }
  Tensor back;
  {
    const DeviceScope place("cpu:0");
    back = far * 2.f;
  }
  Session session(graph, on({"cpu", "test"}));
  EXPECT_THROW(session.run(back, {{x, Array::full(f32, {2}, -1.f)}}), NumericError);
  EXPECT_EQ(session.run(back, {{x, Array::full(f32, {2}, 1.f)}}).item(0), 0) << "the session stays usable";
}

}  // namespace
}  // namespace belfry
