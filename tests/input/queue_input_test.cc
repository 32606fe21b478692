// QueueInput, BatchQueueInput and StagingInput: what is read ahead, and that nothing of it is lost or changes places.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "belfry/base/mutex.h"
#include "belfry/callbacks/summaries.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/stage_flow.h"
#include "belfry/nn/summary.h"
#include "belfry/ops/queue.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "tests/input/input_testing.h"

namespace belfry {
namespace {

using testing_support::counting;
using testing_support::kSignature;
using testing_support::Values;
using testing_support::Watch;

// Counts what was read of a flow, and lets others wait for a number.
class Reads {
 public:
  Flow watch(Flow flow) {
    return std::move(flow) | map([this](DataPoint point) {
             const MutexLock lock(mutex_);
             ++count_;
             more_.notify_all();
             return point;
           });
  }
  void wait_for(int count) {
    const MutexLock lock(mutex_);
    while (count_ < count) more_.wait(mutex_);
  }
  int count() {
    const MutexLock lock(mutex_);
    return count_;
  }

 private:
  Mutex mutex_;
  Condition more_;
  int count_ BELFRY_GUARDED_BY(mutex_) = 0;
};

class QueueInputTest : public testing_support::InputTest {
 protected:
  // Two epochs of two steps, one tower; before the second epoch, `between` is called.
  Values run_two_epochs(const InputSourcePtr& input, const std::function<void(Trainer&)>& between) {
    Trainer trainer;
    trainer.register_callbacks(input->setup(kSignature));
    x = input->get_input_tensors()[0];
    trainer.train_op = Operation(x.node());
    Values seen;
    trainer.train({.callbacks = {Watch({x}, seen), CallbackFactory({.before_epoch =
                                                                        [&](Trainer& t) {
                                                                          if (t.epoch_num() == 2) between(t);
                                                                        }})},
                   .steps_per_epoch = 2,
                   .max_epoch = 2});
    position = trainer.callbacks()[0]->state();
    return seen;
  }
  Tensor x;
};

TEST_F(QueueInputTest, TheDataWaitBeforeTheStepAsks) {
  Reads reads;
  const InputSourcePtr input = QueueInput(reads.watch(counting(9)), {.capacity = 4});
  // No step has run when the queue is full: waiting for a step to ask would never end.
  Trainer trainer;
  trainer.register_callbacks(input->setup(kSignature));
  trainer.train_op = Operation(input->get_input_tensors()[0].node());
  trainer.train({.callbacks = {CallbackFactory({.before_epoch = [&](Trainer&) { reads.wait_for(5); }})},
                 .steps_per_epoch = 1,
                 .max_epoch = 1});
  EXPECT_EQ(trainer.global_step(), 1);
}

TEST_F(QueueInputTest, RefillingReadsAgainWhatWasReadAheadAndLosesNothing) {
  Reads reads;
  QueueInput queue(reads.watch(counting(9)), {.capacity = 3});
  const auto shared = std::make_shared<QueueInput>(std::move(queue));
  int before = 0;
  EXPECT_EQ(run_two_epochs(InputSourcePtr(shared),
                           [&](Trainer&) {
                             reads.wait_for(6);  // two used, three queued, one waits for room
                             before = reads.count();
                             shared->refill_queue();
                             reads.wait_for(before + 4);
                           }),
            (Values{1, 2, 3, 4}));
  EXPECT_EQ(before, 6);
}

// Looked at before the thread reads: neither lost nor given twice, and a refill has it too.
TEST_F(QueueInputTest, TheFirstPointCanBeLookedAt) {
  for (const bool refilled : {false, true}) {
    Graph own;
    const GraphScope inside(own);
    const auto queue = std::make_shared<QueueInput>(counting(9));
    InputSourcePtr input(queue);
    Trainer trainer;
    trainer.register_callbacks(input->setup(kSignature));
    const Tensor x = input->get_input_tensors()[0];
    trainer.train_op = Operation(x.node());
    input->check_first_point();
    input->check_first_point();
    if (refilled) queue->refill_queue();
    Values seen;
    trainer.train({.callbacks = {Watch({x}, seen)}, .steps_per_epoch = 3, .max_epoch = 1});
    EXPECT_EQ(seen, (Values{1, 2, 3}));
  }
}

// A hooked run of something else does not bring the old position back.
TEST_F(QueueInputTest, AResetIsTheNewPositionEvenIfTheNextRunTakesNothing) {
  const InputSourcePtr input = QueueInput(counting(9));
  const Variable other = var("other", Array(0.f));
  Trainer trainer;
  trainer.register_callbacks(input->setup(kSignature));
  trainer.train_op = Operation(input->get_input_tensors()[0].node());
  const auto reset = [&](Trainer& t) {
    input->reset_state();
    const std::string start = t.callbacks()[0]->state();
    t.hooked_session().run(other);
    EXPECT_EQ(t.callbacks()[0]->state(), start);
  };
  trainer.train({.callbacks = {CallbackFactory({.after_epoch = reset})}, .steps_per_epoch = 2, .max_epoch = 1});
}

TEST_F(QueueInputTest, RestoringWhileItRunsGoesOnFromThere) {
  std::string state;
  {
    Graph own;
    const GraphScope inside(own);
    run(QueueInput(counting(9)), 6);
    state = position;
  }
  const InputSourcePtr input = QueueInput(counting(9));
  EXPECT_EQ(run_two_epochs(input, [&](Trainer& t) { t.callbacks()[0]->restore(state); }), (Values{1, 2, 7, 8}));
}

// Cannot go back, as a stream from elsewhere.
class OneWay final : public StageFlow {
 public:
  explicit OneWay(Flow source) : StageFlow(std::move(source), "one_way", "one_way") {}
  std::optional<DataPoint> next() override { return source().next(); }
  void restore(const FlowState&) override { throw FileError("[one_way] expected no restore()."); }
};

TEST_F(QueueInputTest, AFlowThatCannotGoBackEndsAsWellAsOthers) {
  Reads reads;
  const Flow stream = std::make_shared<OneWay>(counting(9));
  const InputSourcePtr input = QueueInput(reads.watch(stream), {.capacity = 4});
  EXPECT_EQ(run_two_epochs(input, [&](Trainer&) { reads.wait_for(7); }).size(), 4u);
}

TEST_F(QueueInputTest, TwoInputsDoNotReadOneFlow) {
  const Flow flow = counting(4);
  for (const bool infinite : {false, true}) {
    const QueueInput first(flow, {.infinite = infinite});
    EXPECT_TRUE(contains(error_of([&] { QueueInput(flow, {.infinite = infinite}); }), "feeds another flow already"));
    EXPECT_TRUE(contains(error_of([&] { FeedInput(flow, {.infinite = infinite}); }), "feeds another flow already"));
  }
}

TEST_F(QueueInputTest, ItsSizeIsAMovingSummary) {
  const InputSourcePtr input = QueueInput(counting(9), {.capacity = 3, .name = "train_queue"});
  Trainer trainer;
  trainer.register_callbacks(input->setup(kSignature));
  trainer.train_op = Operation(input->get_input_tensors()[0].node());
  trainer.train({.callbacks = {MovingAverageSummary()}, .steps_per_epoch = 20, .max_epoch = 1});
  const std::optional<double> size = trainer.monitors().latest("train_queue_size");
  ASSERT_TRUE(size.has_value());
  EXPECT_GE(*size, 0);
  EXPECT_LE(*size, 3.001);
  EXPECT_TRUE(contains(error_of([] {
                         Graph own;
                         const GraphScope inside(own);
                         QueueInput(counting(1), {.capacity = 0}).setup(kSignature);
                       }),
                       "got 0"));
}

TEST_F(QueueInputTest, AFinitePassOfBatchesKeepsItsRemainder) {
  const InputSourcePtr input = BatchQueueInput(counting(5), 2, {.infinite = false});
  EXPECT_EQ(input->size(), 3);
  Trainer trainer;
  trainer.register_callbacks(input->setup({{"x", f32, {kAny}}}));
  const Tensor total = reduce_sum(input->get_input_tensors()[0]);
  trainer.train_op = Operation(total.node());
  Values seen;
  EXPECT_TRUE(contains(trainer.train({.callbacks = {Watch({total}, seen)}, .steps_per_epoch = 9, .max_epoch = 1}),
                       "the end of the data"));
  EXPECT_EQ(seen, (Values{3, 7, 5}));
}

// The summaries' own run wants a point that is not there: the epoch is finished all the same.
TEST_F(QueueInputTest, ACallbackThatFindsTheDataAtTheirEndTakesNoTriggerFromTheEpoch) {
  const InputSourcePtr input = QueueInput(counting(3), {.infinite = false});
  Trainer trainer;
  trainer.register_callbacks(input->setup(kSignature));
  const Tensor in = input->get_input_tensors()[0];
  add_summary({in});
  trainer.train_op = Operation(in.node());
  int triggers = 0;
  const std::string reason =
      trainer.train({.callbacks = {MergeAllSummaries({.run_alone = true}),
                                   CallbackFactory({.trigger_epoch = [&](Trainer&) { ++triggers; }})},
                     .steps_per_epoch = 3,
                     .max_epoch = 9});
  EXPECT_TRUE(contains(reason, "the end of the data")) << reason;
  EXPECT_EQ(triggers, 1);
}

// The data hang; the flow is let go when the loop has ended, so that its thread can be joined.
TEST_F(QueueInputTest, ARequestToStopEndsAStepThatWaitsForData) {
  struct Releasing final : Trainer {
    void end_steps() override { release.set_value(); }
    std::promise<void> release;
  } trainer;
  const InputSourcePtr input = QueueInput(counting(3) | map([come = trainer.release.get_future().share()](DataPoint p) {
                                            come.wait();
                                            return p;
                                          }));
  trainer.register_callbacks(input->setup(kSignature));
  trainer.train_op = Operation(input->get_input_tensors()[0].node());
  std::thread other;
  struct Ask final : Callback {
    explicit Ask(std::thread& t) : thread(&t) {}
    HookRequest before_run(const RunContext&) override {
      *thread = std::thread([this] { trainer().request_stop("waited enough"); });
      return {};
    }
    std::thread* thread;
  };
  EXPECT_EQ(trainer.train({.callbacks = {Ask(other)}, .steps_per_epoch = 1, .max_epoch = 1}), "waited enough");
  other.join();
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST_F(QueueInputTest, BatchesGoOnFromTheirPosition) {
  const auto sums = [&](std::int64_t steps, const std::string& from) {
    Graph own;
    const GraphScope inside(own);
    const InputSourcePtr input = BatchQueueInput(counting(5), 2);
    Trainer trainer;
    trainer.register_callbacks(input->setup({{"x", f32, {kAny}}}));
    const Tensor total = reduce_sum(input->get_input_tensors()[0]);
    trainer.train_op = Operation(total.node());
    if (!from.empty()) trainer.callbacks()[0]->restore(from);
    Values seen;
    trainer.train({.callbacks = {Watch({total}, seen)}, .steps_per_epoch = steps, .max_epoch = 1});
    position = trainer.callbacks()[0]->state();
    return seen;
  };
  EXPECT_EQ(sums(2, ""), (Values{3, 7}));
  EXPECT_EQ(sums(2, position), (Values{6, 5}));
}

TEST_F(QueueInputTest, BatchesThatDoNotFitNameTheirInput) {
  const InputSourcePtr input = BatchQueueInput(counting(5), 2);
  EXPECT_TRUE(error_of([&] {
                run(input, 1);
              }).starts_with("[BatchQueueInput] input 'x' expects f32 [], the flow's component 0 is f32 [2]."));
}

// As many as without staging. Of five, one point is left for two towers, which is not enough for a step.
TEST_F(QueueInputTest, WhereAStagedInputEndsItsLastPointsAreUsed) {
  const std::vector<std::pair<int, Values>> expected{{1, {1, 2, 3, 4, 5}}, {2, {1, 2, 3, 4}}, {5, {1, 2, 3, 4, 5}}};
  for (const auto& [towers, values] : expected) {
    Graph own;
    const GraphScope inside(own);
    std::string reason;
    EXPECT_EQ(run(StagingInput(QueueInput(counting(5), {.infinite = false})), 9, towers, &reason), values) << towers;
    EXPECT_TRUE(contains(reason, "the end of the data")) << reason;
  }
}

// The third point comes when the second step has ended: had that waited for it, as for what is staged next, neither
// would ever have come. The position is that of what was used, however it was staged.
TEST_F(QueueInputTest, AStepDoesNotWaitForThePointsOfTheNext) {
  std::promise<void> second_step;
  const auto slow = [ended = second_step.get_future().share()] {
    return counting(5) | map([ended](DataPoint point) {
             if (point[0].item() == 3 && ended.wait_for(std::chrono::seconds(20)) != std::future_status::ready)
               throw Error("the second step has not ended");
             return point;
           });
  };
  const InputSourcePtr input = StagingInput(QueueInput(slow()));
  Trainer trainer;
  trainer.register_callbacks(input->setup(kSignature));
  const Tensor in = input->get_input_tensors()[0];
  trainer.train_op = Operation(in.node());
  Values seen;
  trainer.train({.callbacks = {Watch({in}, seen), CallbackFactory({.trigger_step =
                                                                       [&](Trainer& t) {
                                                                         if (t.local_step() == 1)
                                                                           second_step.set_value();
                                                                       }})},
                 .steps_per_epoch = 4,
                 .max_epoch = 1});
  EXPECT_EQ(seen, (Values{1, 2, 3, 4}));
  const std::string after_four = trainer.callbacks()[0]->state();
  Graph own;
  const GraphScope inside(own);
  EXPECT_EQ(run(StagingInput(QueueInput(slow())), 3, 1, nullptr, after_four), (Values{5, 1, 2}));
}

// What random ops make of a point does not depend on whether it came in time to be staged along with the step before.
TEST_F(QueueInputTest, RandomNumbersOfStagedPointsDoNotDependOnWhenTheyCome) {
  const auto noise = [&](bool late) {
    Graph own;
    const GraphScope inside(own);
    Queue queue("points", kSignature);
    const InputSourcePtr input =
        StagingInput(TensorInput([&] { return Tensors{queue.dequeue()[0] + random_uniform({})}; }));
    Trainer trainer;
    trainer.register_callbacks(input->setup(kSignature));
    const Tensor in = input->get_input_tensors()[0];
    trainer.train_op = Operation(in.node());
    const auto put = [&](Trainer& t) { EXPECT_TRUE(t.session().queue(queue)->put({{Array(1.f)}})); };
    Values seen;
    trainer.train({.callbacks = {Watch({in}, seen), CallbackFactory({.before_train =
                                                                         [&](Trainer& t) {
                                                                           for (int i = 0; i < (late ? 1 : 5); ++i)
                                                                             put(t);
                                                                         },
                                                                     .trigger_step = put})},
                   .steps_per_epoch = 4,
                   .max_epoch = 1});
    return seen;
  };
  const Values in_time = noise(false);
  EXPECT_EQ(noise(true), in_time);
  EXPECT_NE(in_time[1], in_time[2]);
}

TEST_F(QueueInputTest, AStagedPointThatWasTakenOnTheSideIsReplaced) {
  EXPECT_EQ(run_two_epochs(StagingInput(QueueInput(counting(9))), [&](Trainer& t) { t.session().run(x); }),
            (Values{1, 2, 4, 5}));
}

// The caller's fetches do not depend on the input, but a callback's do: no point is there twice, none is missing.
TEST_F(QueueInputTest, StagedPointsOfWhatOnlyCallbacksFetch) {
  const InputSourcePtr input = StagingInput(QueueInput(counting(9)));
  const Variable other = var("other", Array(0.f));
  Trainer trainer;
  trainer.register_callbacks(input->setup(kSignature));
  const Tensor first = input->get_input_tensors()[0];
  input->get_input_tensors();
  trainer.train_op = Operation(other.assign_add(1.f).node());
  Values seen;
  trainer.train({.callbacks = {Watch({first}, seen)}, .steps_per_epoch = 3, .max_epoch = 1});
  EXPECT_EQ(seen, (Values{1, 3, 4}));  // the second tower's point waits
}

// Its one staged point waits: had the run staged another, the area would be too full.
TEST_F(QueueInputTest, AHookedRunThatNeedsNoDataStagesNothing) {
  const InputSourcePtr input = StagingInput(QueueInput(counting(9)));
  const Variable other = var("other", Array(0.f));
  Trainer trainer;
  trainer.register_callbacks(input->setup(kSignature));
  const Tensor in = input->get_input_tensors()[0];
  trainer.train_op = Operation(in.node());
  Values seen;
  struct Collect final : Callback {
    Collect(const Tensor& t, Values& v) : tensor(t), values(&v) {}
    HookRequest before_run(const RunContext& context) override {
      if (context.fetches.size() == 1 && context.fetches[0].operation()) return {.fetches = {tensor}};
      return {};
    }
    void after_run(const RunContext&, const RunValues& got) override {
      for (const Array& v : got) values->push_back(v.item());
    }
    Tensor tensor;
    Values* values;
  };
  trainer.train({.callbacks = {Collect(in, seen),
                               CallbackFactory({.trigger_step = [&](Trainer& t) { t.hooked_session().run(other); }})},
                 .steps_per_epoch = 3,
                 .max_epoch = 1});
  EXPECT_EQ(seen, (Values{1, 2, 3}));
  EXPECT_EQ(trainer.global_step(), 6);
}

TEST_F(QueueInputTest, StagingDoesNotNestBehindAnotherInput) {
  const InputSourcePtr staged = StagingInput(QueueInput(counting(1)));
  EXPECT_TRUE(contains(error_of([&] { StagingInput(remap_input(staged, {"x"})); }), "they do not nest"));
}

TEST_F(QueueInputTest, RemappedInputsCanBeStagedIfTheyGiveAll) {
  EXPECT_EQ(run(StagingInput(remap_input(QueueInput(counting(9)), {"x"})), 3, 2), (Values{1, 2, 3, 4, 5, 6}));
  Graph own;
  const GraphScope inside(own);
  StagingInput partly(remap_input(QueueInput(counting(9), {.name = "other"}), {"x"}));
  EXPECT_TRUE(
      contains(error_of([&] { partly.setup({{"x", f32, {}}, {"y", f32, {}}}); }), "got remap_input, which is fed"));
}

}  // namespace
}  // namespace belfry
