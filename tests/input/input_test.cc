// How datapoints enter a graph: each kind of input, what it takes, its position.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/nn/initializers.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "tests/input/input_testing.h"
#include "tests/support/files.h"
#include "tests/support/stalled_flow.h"

namespace belfry {
namespace {

using testing_support::counting;
using testing_support::InputTest;
using testing_support::kSignature;
using testing_support::Values;
using testing_support::Watch;

TEST_F(InputTest, FlowsAreRepeatedWithoutEnd) {
  EXPECT_EQ(run(FeedInput(counting(3)), 7), (Values{1, 2, 3, 1, 2, 3, 1}));
}

TEST_F(InputTest, QueuesGiveTheSamePointsInTheSameOrder) {
  EXPECT_EQ(run(QueueInput(counting(3), {.capacity = 2}), 7), (Values{1, 2, 3, 1, 2, 3, 1}));
}

TEST_F(InputTest, EachTowerTakesItsOwnPoint) {
  EXPECT_EQ(run(QueueInput(counting(3)), 3, 2), (Values{1, 2, 3, 1, 2, 3}));
}

TEST_F(InputTest, StagedPointsAreTheSame) {
  EXPECT_EQ(run(StagingInput(QueueInput(counting(3))), 4, 2), (Values{1, 2, 3, 1, 2, 3, 1, 2}));
}

TEST_F(InputTest, TheEndOfAFiniteFlowIsTheEndOfTraining) {
  std::string reason;
  EXPECT_EQ(run(QueueInput(counting(3), {.infinite = false}), 7, 1, &reason), (Values{1, 2, 3}));
  EXPECT_TRUE(contains(reason, "the end of the data")) << reason;
}

TEST_F(InputTest, TheEndOfAFedFlowIsTheEndOfTraining) {
  std::string reason;
  EXPECT_EQ(run(FeedInput(counting(3), {.infinite = false}), 7, 1, &reason), (Values{1, 2, 3}));
  EXPECT_TRUE(contains(reason, "the end of the data")) << reason;
}

// What was read ahead, queued or staged does not count.
TEST_F(InputTest, ThePositionIsThatOfTheLastPointUsed) {
  const std::vector<std::function<InputSourcePtr()>> kinds{[] { return FeedInput(counting(5)); },
                                                           [] { return QueueInput(counting(5)); },
                                                           [] { return StagingInput(QueueInput(counting(5))); }};
  for (const auto& make : kinds) {
    Graph first, second;
    {
      const GraphScope inside(first);
      EXPECT_EQ(run(make(), 3), (Values{1, 2, 3}));
    }
    const GraphScope inside(second);
    EXPECT_EQ(run(make(), 4, 1, nullptr, position), (Values{4, 5, 1, 2}));
  }
}

TEST_F(InputTest, BatchesAreMadeOfSinglePointsAcrossPasses) {
  const InputSourcePtr input = BatchQueueInput(counting(5), 2);
  EXPECT_EQ(input->size(), 2);
  Trainer trainer;
  trainer.register_callbacks(input->setup({{"x", f32, {kAny}}}));
  const Tensor total = reduce_sum(input->get_input_tensors()[0]);
  trainer.train_op = Operation(total.node());
  Values seen;
  trainer.train({.callbacks = {Watch({total}, seen)}, .steps_per_epoch = 4, .max_epoch = 1});
  EXPECT_EQ(seen, (Values{3, 7, 6, 5}));  // 1+2, 3+4, 5+1, 2+3
}

TEST_F(InputTest, AFailureInTheFlowIsAnErrorNotAnEnd) {
  const auto broken = [] {
    return counting(5) | map([](DataPoint point) {
             if (point[0].item() == 3) throw FileError("[disk] expected a page, got none.");
             return point;
           });
  };
  const std::vector<InputSourcePtr> inputs{QueueInput(broken(), {.infinite = false}),
                                           FeedInput(broken(), {.infinite = false}),
                                           StagingInput(QueueInput(broken(), {.infinite = false}))};
  for (const InputSourcePtr& input : inputs) {
    Graph own;
    const GraphScope inside(own);
    EXPECT_TRUE(contains(error_of<FileError>([&] { run(input, 10); }),
                         "[map] the function of 'list | map' failed at point 2 of epoch 0: [disk] expected a page, got "
                         "none."))
        << input->name();
  }
}

// Not only a signal: any thread may ask.
TEST_F(InputTest, ARequestToStopEndsAWaitForAPointThatIsFed) {
  std::promise<void> waits;
  const InputSourcePtr input = FeedInput(std::make_shared<testing_support::StalledFlow>(
      testing_support::StalledOptions{.point = {Array(1.f)}, .points = 2, .on_wait = [&] { waits.set_value(); }}));
  Trainer trainer;
  trainer.register_callbacks(input->setup(kSignature));
  trainer.train_op = Operation(input->get_input_tensors()[0].node());
  std::thread other([&] {
    waits.get_future().wait();
    trainer.request_stop("waited enough");
  });
  EXPECT_EQ(trainer.train({.steps_per_epoch = 9, .max_epoch = 1}), "waited enough");
  other.join();
  EXPECT_EQ(trainer.global_step(), 2);
}

// The ends of the trainer's epochs do not affect the data: nothing is dropped or read again.
TEST_F(InputTest, EpochsOfTheTrainerNeitherResetNorDrain) {
  for (const bool queue : {false, true}) {
    Graph own;
    const GraphScope inside(own);
    const InputSourcePtr input =
        queue ? InputSourcePtr(QueueInput(counting(5))) : InputSourcePtr(FeedInput(counting(5)));
    Trainer trainer;
    trainer.register_callbacks(input->setup(kSignature));
    const Tensor x = input->get_input_tensors()[0];
    trainer.train_op = Operation(x.node());
    Values seen;
    trainer.train({.callbacks = {Watch({x}, seen)}, .steps_per_epoch = 2, .max_epoch = 4});
    EXPECT_EQ(seen, (Values{1, 2, 3, 4, 5, 1, 2, 3}));
  }
}

TEST_F(InputTest, EachPassIsTheNextEpochOfTheFlow) {
  const auto shuffled = [] { return counting(20) | shuffle(7); };
  Values expected;
  Flow flow = shuffled();
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const DataPoint& point : flow) expected.push_back(point[0].item());
  EXPECT_NE(Values(expected.begin(), expected.begin() + 20), Values(expected.begin() + 20, expected.end()));
  EXPECT_EQ(run(QueueInput(shuffled()), 40), expected);
}

TEST_F(InputTest, APointThatDoesNotFitIsNamed) {
  const std::vector<TensorSpec> signature{{"image", f32, {kAny, 28, 28, 1}}, {"label", i32, {kAny}}};
  const auto images = [] { return from_list({{Array::zeros(u8, {128, 28, 28}), Array::zeros(i32, {128})}}); };
  const std::vector<std::pair<std::string, InputSourcePtr>> inputs{{"QueueInput", QueueInput(images())},
                                                                   {"FeedInput", FeedInput(images())},
                                                                   {"QueueInput", StagingInput(QueueInput(images()))}};
  for (const auto& [name, input] : inputs) {
    Graph own;
    const GraphScope inside(own);
    Trainer trainer;
    trainer.register_callbacks(input->setup(signature));
    trainer.train_op = Operation(input->get_input_tensors()[0].node());
    const std::string text = error_of([&] { trainer.train({.steps_per_epoch = 1, .max_epoch = 1}); });
    EXPECT_TRUE(text.starts_with("[" + name +
                                 "] input 'image' expects f32 [?, 28, 28, 1], the flow's component 0 is u8 [128, 28, "
                                 "28]. Map the flow, or change the input"))
        << text;
  }
  EXPECT_EQ(error_of([&] { check_point("FeedInput", kSignature, {}); }),
            "[FeedInput] expected points of 1 components, one for each input, got one of 0. Select components, or "
            "change the inputs.");
}

TEST_F(InputTest, TheQueueShowsHowFullItIs) {
  run(QueueInput(counting(3), {.name = "train_queue"}), 1);
  ASSERT_EQ(graph.collections().tensors(collection::kMovingSummaries).size(), 1u);
  EXPECT_EQ(graph.collections().tensors(collection::kMovingSummaries)[0].name(), "train_queue_size");
}

TEST_F(InputTest, ResettingStartsTheDataAgain) {
  for (const bool queue : {false, true}) {
    Graph own;
    const GraphScope inside(own);
    const InputSourcePtr input = queue ? InputSourcePtr(QueueInput(counting(9), {.infinite = false}))
                                       : InputSourcePtr(FeedInput(counting(9), {.infinite = false}));
    Trainer trainer;
    trainer.register_callbacks(input->setup(kSignature));
    const Tensor x = input->get_input_tensors()[0];
    trainer.train_op = Operation(x.node());
    Values seen;
    trainer.train(
        {.callbacks = {Watch({x}, seen), CallbackFactory({.before_epoch = [&](Trainer&) { input->reset_state(); }})},
         .steps_per_epoch = 2,
         .max_epoch = 2});
    EXPECT_EQ(seen, (Values{1, 2, 1, 2}));
  }
}

TEST_F(InputTest, TensorsMadeByTheGraph) {
  EXPECT_EQ(error_of([] { TensorInput([] { return Tensors{constant(1.f)}; }, 0); }),
            "[TensorInput] expected a size of 1 or more runs, got 0. Omit it if a pass has no end.");
  EXPECT_EQ(run(TensorInput([] { return Tensors{constant(2.f) * 3.f}; }), 2), (Values{6, 6}));
  EXPECT_TRUE(contains(error_of([&] {
                         Graph own;
                         const GraphScope inside(own);
                         TensorInput input([] { return Tensors{constant(1)}; });
                         input.setup(kSignature);
                         input.get_input_tensors();
                       }),
                       "[TensorInput] input 'x' expects f32 [], tensor 0 is"));
}

TEST_F(InputTest, DummiesStayTheSame) {
  const Values seen = run(DummyConstantInput(), 3);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_GE(seen[0], 0);
  EXPECT_LT(seen[0], 1);
  EXPECT_TRUE(contains(error_of([&] {
                         DummyConstantInput input;
                         input.setup({{"image", f32, {kAny, 2}}});
                         input.get_input_tensors();
                       }),
                       "input 'image' expects a concrete shape that fits [?, 2], got [?, 2] (at input_test.cc:"));
}

TEST_F(InputTest, PlaceholdersAreFedByTheUser) {
  PlaceholderInput input;
  input.setup(kSignature);
  const Tensor x = input.get_input_tensors()[0];
  Session session(graph);
  EXPECT_EQ(session.run(x * 2.f, {{x, Array(4.f)}}).item(), 8);
}

TEST_F(InputTest, ComponentsAreMappedByName) {
  std::vector<DataPoint> points{{Array(1.f), Array(std::int32_t{2})}};
  const InputSourcePtr input = remap_input(QueueInput(from_list(std::move(points))), {"a", "b"});
  Trainer trainer;
  trainer.register_callbacks(input->setup({{"b", i32, {}}, {"other", f32, {}}, {"a", f32, {}}}));
  const Tensors in = input->get_input_tensors();
  EXPECT_EQ(in[1].name(), "other");
  trainer.train_op = Operation(in[0].node());
  Values seen;
  trainer.train({.callbacks = {Watch({in[0], in[2]}, seen)}, .steps_per_epoch = 1, .max_epoch = 1});
  EXPECT_EQ(seen, (Values{2, 1}));
  EXPECT_TRUE(contains(error_of([&] { remap_input(PlaceholderInput(), {"c"})->setup(kSignature); }),
                       "[remap_input] expected names of inputs, got 'c'."));
  EXPECT_EQ(error_of([&] { remap_input(PlaceholderInput(), {"x", "x"})->setup(kSignature); }),
            "[remap_input] expected each input once, got 'x' twice.");
}

TEST_F(InputTest, MistakesAreNamed) {
  FeedInput feed(counting(1));
  EXPECT_TRUE(contains(error_of([&] { feed.get_input_tensors(); }),
                       "[FeedInput] expected setup() before its tensors are used, got none (at input_test.cc:"));
  feed.setup(kSignature);
  feed.get_input_tensors();
  EXPECT_TRUE(error_of([&] { feed.get_input_tensors(); }).starts_with("[FeedInput] expected one tower, got a second"));
  EXPECT_TRUE(contains(error_of([&] { feed.setup(kSignature); }), "expected setup() once"));
  EXPECT_TRUE(contains(error_of([] { StagingInput(FeedInput(counting(1))); }), "got FeedInput, which is fed"));
  EXPECT_TRUE(contains(error_of([] { StagingInput(InputSourcePtr(StagingInput(QueueInput(counting(1))))); }),
                       "they do not nest"));
}

TEST_F(InputTest, APlainRunThatDependsOnTheInputTakesAPoint) {
  const InputSourcePtr input = QueueInput(counting(9));
  Trainer trainer;
  trainer.register_callbacks(input->setup(kSignature));
  const Tensor x = input->get_input_tensors()[0];
  trainer.train_op = Operation(x.node());
  Values seen;
  trainer.train(
      {.callbacks = {Watch({x}, seen), CallbackFactory({.trigger_step = [&](Trainer& t) { t.session().run(x); }})},
       .steps_per_epoch = 3,
       .max_epoch = 1});
  EXPECT_EQ(seen, (Values{1, 3, 5}));
}

// Wherever training ends while the data thread reads, waits or is blocked, it ends at once.
TEST_F(InputTest, EndsWhileTheFlowIsRead) {
  for (int capacity : {1, 50}) {
    Graph own;
    const GraphScope inside(own);
    EXPECT_EQ(run(QueueInput(counting(100) | prefetch(2), {.capacity = capacity}), 1), Values{1});
  }
}

}  // namespace
}  // namespace belfry
