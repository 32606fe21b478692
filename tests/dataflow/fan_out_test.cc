#include "belfry/dataflow/fan_out.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <set>
#include <thread>

#include "belfry/base/random.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat_each.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/fake.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

using Ints = std::vector<int>;

int value_of(const std::optional<DataPoint>& point) { return point ? static_cast<int>((*point)[0].item()) : -1; }

// Runs function(k) for every consumer, each on a separate thread.
void on_threads(std::size_t consumers, const std::function<void(std::size_t)>& function) {
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < consumers; ++k) threads.emplace_back([&function, k] { function(k); });
  for (std::thread& thread : threads) thread.join();
}

TEST(FanOut, DealsPointsInTurn) {
  std::vector<Flow> parts = fan_out(numbered(8), {.consumers = 3});
  EXPECT_EQ(drain(parts[1]), (Ints{1, 4, 7}));
  EXPECT_EQ(drain(parts[0]), (Ints{0, 3, 6}));
  EXPECT_EQ(drain(parts[2]), (Ints{2, 5}));
  EXPECT_EQ(parts[2].next(), std::nullopt);
  EXPECT_EQ(parts[0].known_size(), 3);
  EXPECT_EQ(parts[1].known_size(), 3);
  EXPECT_EQ(parts[2].known_size(), 2);
  EXPECT_EQ(parts[1].describe(), "list | fan_out(1 of 3)");
  EXPECT_EQ(parts[1]->random_access(), nullptr);
}

TEST(FanOut, GivesEveryPointToAllIfAsked) {
  std::vector<Flow> all = fan_out(numbered(5), {.consumers = 3, .each = Each::all});
  for (Flow& flow : all) EXPECT_EQ(drain(flow), upto(5));
  EXPECT_EQ(all[2].known_size(), 5);
}

TEST(FanOut, RandomNumbersArePointsOwnInEveryPart) {
  const auto draw = map([](const DataPoint&, RandomStream& random) { return DataPoint{Array(random.uniform())}; });
  std::vector<Flow> parts = fan_out(numbered(20));
  Flow first = parts[0] | draw, second = parts[1] | draw;
  std::set<double> seen;
  for (int i = 0; i < 10; ++i)
    for (Flow* part : {&first, &second}) seen.insert((*part->next())[0].item());
  EXPECT_EQ(seen.size(), 20u);
}

TEST(FanOut, BeginsPassesForAllTogether) {
  std::vector<Flow> parts = fan_out(numbered(6) | shuffle(3));
  Flow plain = numbered(6) | shuffle(3);
  for (const std::uint64_t epoch : {0, 1, 7, 2}) {
    for (Flow& part : parts) part.start_epoch(epoch);
    const Ints all = pass(plain, epoch), even = drain(parts[0]), odd = drain(parts[1]);
    EXPECT_EQ(even, (Ints{all[0], all[2], all[4]}));
    EXPECT_EQ(odd, (Ints{all[1], all[3], all[5]}));
    EXPECT_EQ(parts[0].epoch(), epoch);
  }
}

TEST(FanOut, ThreadsGetTheSameInEveryRun) {
  for (const Each each : {Each::some, Each::all})
    for (const int buffer : {1, 2, 7}) {
      std::vector<Flow> parts =
          fan_out(Flow(Sequential(101)) | prefetch(3), {.consumers = 4, .each = each, .buffer = buffer});
      std::vector<Ints> got(4);
      on_threads(4, [&](std::size_t k) {
        for (int epoch = 0; epoch < 3; ++epoch)
          for (const DataPoint& point : parts[k]) got[k].push_back(static_cast<int>(point[0].item()));
      });
      for (int k = 0; k < 4; ++k) {
        Ints expected;
        for (int epoch = 0; epoch < 3; ++epoch)
          for (int i = 0; i < 101; ++i)
            if (each == Each::all || i % 4 == k) expected.push_back(i);
        EXPECT_EQ(got[static_cast<std::size_t>(k)], expected);
      }
    }
}

TEST(FanOut, ReadsNoFurtherThanItsBuffer) {
  std::atomic<int> reads = 0;
  std::vector<Flow> parts = fan_out(numbered(100) | map([&](DataPoint point) {
                                      ++reads;
                                      reads.notify_all();
                                      return point;
                                    }),
                                    {.buffer = 4});
  Ints got;
  std::thread ahead([&] { got = drain(parts[0]); });
  // It takes 0, 2, 4 and 6; 1, 3, 5 and 7 fill the buffer.
  for (int seen = reads; seen < 8; seen = reads) reads.wait(seen);
  EXPECT_EQ(value_of(parts[1].next()), 1);
  for (int seen = reads; seen < 10; seen = reads) reads.wait(seen);
  EXPECT_LE(reads, 10);
  EXPECT_EQ(drain(parts[1]).size(), 49u);
  ahead.join();
  EXPECT_EQ(got.size(), 50u);
}

TEST(FanOut, OthersGoOnWhenOneIsDestroyed) {
  for (const Each each : {Each::some, Each::all}) {
    std::vector<Flow> parts = fan_out(numbered(60), {.consumers = 3, .each = each, .buffer = 2});
    std::atomic<int> finished = 0;
    on_threads(3, [&](std::size_t k) {
      Flow mine = std::move(parts[k]);
      if (k == 1) {
        mine.next();
        mine = {};
        return;
      }
      for (int epoch = 0; epoch < 2; ++epoch) {
        int points = 0;
        for ([[maybe_unused]] const DataPoint& point : mine) ++points;
        EXPECT_EQ(points, each == Each::all ? 60 : 20);
      }
      ++finished;
    });
    EXPECT_EQ(finished, 2);
  }
}

TEST(FanOut, TheSourceIsFreeAgainWhenAllAreGone) {
  Flow source = numbered(4);
  std::vector<Flow> parts = fan_out(source);
  EXPECT_TRUE(contains(error_of([&] { fan_out(source); }), "feeds another flow already"));
  parts.clear();
  EXPECT_EQ(drain(fan_out(source)[0]), (Ints{0, 2}));
}

TEST(FanOut, AnErrorReachesEveryConsumerOnce) {
  std::atomic<int> errors = 0;
  std::vector<Flow> parts = fan_out(numbered(20) | map([](DataPoint point) {
                                      if (point[0].item() == 7) throw FileError("no such luck");
                                      return point;
                                    }),
                                    {.consumers = 3, .buffer = 2});
  on_threads(3, [&](std::size_t k) {
    std::size_t points = 0;
    const std::string text = error_of<FileError>([&] {
      while (parts[k].next()) ++points;
    });
    EXPECT_EQ(text, "[map] the function of 'list | map' failed at point 7 of epoch 0: no such luck");
    EXPECT_EQ(points, k == 0 ? 3u : 2u);
    EXPECT_EQ(error_of([&] { parts[k].next(); }),
              "[fan_out] expected a pass that goes on, got one that ended with an error. Call start_epoch() or "
              "restore() first.");
    ++errors;
  });
  EXPECT_EQ(errors, 3);
  for (Flow& part : parts) part.start_epoch(1);
  EXPECT_EQ(value_of(parts[0].next()), 0);
}

TEST(FanOut, AFailedPointCanBeTriedAgain) {
  bool failed = false;
  std::vector<Flow> parts = fan_out(numbered(6) | map([&](DataPoint point) {
                                      if (point[0].item() == 3 && !std::exchange(failed, true)) throw Error("again");
                                      return point;
                                    }));
  EXPECT_EQ(value_of(parts[0].next()), 0);
  EXPECT_EQ(value_of(parts[1].next()), 1);
  EXPECT_THROW(parts[1].next(), Error);
  for (Flow& part : parts) part.restore(part.state());
  EXPECT_EQ(drain(parts[0]), (Ints{2, 4}));
  EXPECT_EQ(drain(parts[1]), (Ints{3, 5}));
}

// -- Waiting

TEST(FanOut, CancelEndsAWaitForTheOthers) {
  std::vector<Flow> parts = fan_out(numbered(10), {.buffer = 1});
  std::string text;
  std::thread waiting([&] { text = error_of<Cancelled>([&] { drain(parts[0]); }); });
  parts[0]->cancel();
  waiting.join();
  EXPECT_EQ(text, "[fan_out] expected a point of 'list | fan_out(0 of 2)', but the flow was cancelled.");
  EXPECT_EQ(error_of([&] { parts[0].next(); }), text);
}

TEST(FanOut, CancelEndsAWaitForTheNextPass) {
  std::vector<Flow> parts = fan_out(numbered(2));
  EXPECT_EQ(drain(parts[0]), (Ints{0}));
  parts[0].start_epoch(1);
  std::thread waiting([&] { EXPECT_THROW(parts[0].next(), Cancelled); });
  parts[0]->cancel();
  waiting.join();
  EXPECT_EQ(drain(parts[1]), (Ints{1}));
}

// A source whose next() waits, at one point, until it is cancelled; then it continues.
class Stuck final : public DataFlow {
 public:
  explicit Stuck(std::atomic<int>& waits) : waits_(&waits) {}
  void start_epoch(std::uint64_t) override { position_ = 0; }
  std::uint64_t epoch() const override { return 0; }
  std::optional<DataPoint> next() override {
    int ready = 0;
    if (position_ == 3 && waits_->compare_exchange_strong(ready, 1)) {
      waits_->notify_all();
      waits_->wait(1);
      throw Cancelled("[stuck] cancelled.");
    }
    if (position_ == 6) return std::nullopt;
    return DataPoint{Array(position_++)};
  }
  std::optional<std::int64_t> size() const override { return 6; }
  FlowState state() const override { return {"stuck", {{"position", static_cast<std::uint64_t>(position_)}}, {}}; }
  void restore(const FlowState& state) override { position_ = static_cast<int>(state.at("position")); }
  std::string describe() const override { return "stuck"; }
  void cancel() override {
    *waits_ = 2;
    waits_->notify_all();
  }

 private:
  std::atomic<int>* waits_;
  int position_ = 0;
};

TEST(FanOut, CancelOfTheOneThatReadsLeavesTheSourceToTheOthers) {
  std::atomic<int> waits = 0;
  std::vector<Flow> parts = fan_out(Stuck(waits));
  std::thread reader([&] { EXPECT_THROW(drain(parts[1]), Cancelled); });
  waits.wait(0);
  parts[1]->cancel();
  reader.join();
  EXPECT_EQ(drain(parts[0]), (Ints{0, 2, 4}));
}

TEST(FanOut, WorksUnderPrefetchAndCanBeDestroyedAtAnyMoment) {
  RandomStream random(5);
  for (int round = 0; round < 60; ++round) {
    std::vector<Flow> parts = fan_out(numbered(40) | prefetch(2), {.consumers = 3, .buffer = 1 + round % 3});
    for (Flow& part : parts) part = part | prefetch(2) | batch(2);
    std::vector<std::uint64_t> reads(3);
    for (std::uint64_t& left : reads) left = random.below(10);
    on_threads(3, [&](std::size_t k) {
      Flow mine = std::move(parts[k]);
      parts[k] = {};
      for (std::uint64_t left = reads[k]; left > 0 && mine.next(); --left) continue;
    });
  }
}

// -- Restarts

TEST(FanOut, APassCanBeLeftInTheMiddleByAll) {
  std::vector<Flow> parts = fan_out(numbered(10));
  parts[0].next(), parts[0].next(), parts[1].next();
  for (Flow& part : parts) part.reset_state();
  EXPECT_EQ(drain(parts[1]), (Ints{1, 3, 5, 7, 9}));
  EXPECT_EQ(drain(parts[0]), (Ints{0, 2, 4, 6, 8}));
}

TEST(FanOut, RestartingWhileOthersGoOnIsAnError) {
  std::vector<Flow> parts = fan_out(numbered(10));
  parts[0].next(), parts[1].next();
  parts[0].start_epoch(3);
  EXPECT_EQ(error_of([&] { parts[0].next(); }),
            "[fan_out] expected consumers that begin a pass together, got consumer 0 at epoch 3 while consumer 1 is in "
            "the middle of epoch 0. Call start_epoch(), or restore(), on all consumers before the first next().");
  EXPECT_EQ(drain(parts[1]), (Ints{3, 5, 7, 9}));
  parts[1].start_epoch(3);
  EXPECT_EQ(drain(parts[0]), (Ints{0, 2, 4, 6, 8}));
}

TEST(FanOut, DifferentEpochsAreAnError) {
  std::vector<Flow> parts = fan_out(numbered(10));
  parts[0].start_epoch(1);
  EXPECT_EQ(
      error_of([&] { parts[1].next(); }),
      "[fan_out] expected consumers that begin a pass together, got consumer 1 at epoch 0 and consumer 0 at epoch "
      "1. Call start_epoch(), or restore(), on all consumers before the first next().");
  parts[1].start_epoch(2);
  EXPECT_EQ(error_of([&] { parts[0].next(); }),
            "[fan_out] expected consumers that begin the same epoch, got epoch 1 for consumer 0 and epoch 2 for "
            "consumer 1.");
  parts[0].start_epoch(0), parts[1].start_epoch(0);
  EXPECT_EQ(value_of(parts[1].next()), 1);
}

// -- Positions

using Log = std::vector<std::vector<DataPoint>>;  // what each consumer was given

std::vector<Flow> many(Each each) {
  return fan_out(fake_data({{i32, {2}, 0, 1000}}, {.size = 11}) | shuffle(1) | batch(1),
                 {.consumers = 3, .each = each, .buffer = 40});
}

// The rest of the run: every consumer continues to the end of epoch 2.
Log rest_of(std::vector<Flow>& flows) {
  Log log(flows.size());
  on_threads(flows.size(), [&](std::size_t k) {
    while (true) {
      while (std::optional<DataPoint> point = flows[k].next()) log[k].push_back(std::move(*point));
      if (flows[k].epoch() == 2) return;
      flows[k].start_epoch(flows[k].epoch() + 1);
    }
  });
  return log;
}

TEST(FanOut, RestoredConsumersContinueExactlyFromAnyMoments) {
  for (const Each each : {Each::some, Each::all}) {
    std::vector<Flow> whole = many(each);
    const Log all = rest_of(whole);
    std::vector<Flow> used = many(each);
    RandomStream random(9);
    for (int round = 0; round < 60; ++round) {
      std::vector<Flow> flows = many(each);
      std::vector<std::size_t> taken(3, 0);
      for (std::uint64_t steps = random.below(70); steps > 0; --steps) {
        const auto k = static_cast<std::size_t>(random.below(3));
        const bool waits =
            flows[k].state().at("pass") >
            std::min({flows[0].state().at("pass"), flows[1].state().at("pass"), flows[2].state().at("pass")});
        if (waits) continue;  // for the others' start_epoch()
        if (flows[k].next())
          ++taken[k];
        else if (flows[k].epoch() < 2)
          flows[k].start_epoch(flows[k].epoch() + 1);
      }
      std::vector<std::string> states;
      for (Flow& flow : flows) states.push_back(to_string(flow.state()));
      std::vector<Flow> fresh = many(each);
      for (std::vector<Flow>* restored : {&fresh, &used}) {
        for (std::size_t k = 0; k < 3; ++k) {
          (*restored)[k].restore(flow_state_from_string(states[k]));
          EXPECT_EQ(to_string((*restored)[k].state()), states[k]);
          EXPECT_EQ((*restored)[k].epoch(), flows[k].epoch());
        }
        const Log rest = rest_of(*restored);
        for (std::size_t k = 0; k < 3; ++k) expect_same(rest[k], all[k], taken[k]);
      }
      const Log rest = rest_of(flows);  // and the one that was not restored
      for (std::size_t k = 0; k < 3; ++k) expect_same(rest[k], all[k], taken[k]);
    }
  }
}

TEST(FanOut, OneConsumerRestoresEverywhere) {
  expect_exact_restore([] { return fan_out(numbered(6) | shuffle(2), {.consumers = 1})[0]; });
  expect_exact_restore([] { return fan_out(Flow(Sequential(5)), {.consumers = 1})[0] | prefetch(2) | batch(2); });
}

// Stages that have to read again what they had read ahead, or keep.
const std::vector<std::function<FlowStage()>> kStagesThatReadAgain = {
    [] { return batch_by_shape(2, Remainder::keep); }, [] { return repeat_each(3); },
    [] { return shuffle_local(4, 1); }, [] { return cache_in_memory(); },
    [] { return cache_in_memory() | repeat_each(2) | shuffle_local(3, 2); }};

// In the same turns for both of two consumers, so that neither needs more points than the other.
DataPoint of_two_shapes(const DataPoint& point) {
  const auto number = static_cast<std::int64_t>(point[0].item());
  return {Array::full(i32, {number / 2 % 5 < 3 ? 1 : 2}, static_cast<double>(number))};
}

// One thread restores all, and none of them may wait for those that are not restored yet.
void restore_all(std::vector<Flow>& flows, const std::vector<FlowState>& states) {
  std::future<void> done = std::async(std::launch::async, [&] {
    for (std::size_t k = 0; k < flows.size(); ++k) flows[k].restore(states[k]);
  });
  if (done.wait_for(std::chrono::seconds(10)) != std::future_status::ready)
    for (Flow& flow : flows) flow->cancel();  // so that the test fails instead of hanging
  done.get();
}

TEST(FanOut, OneThreadRestoresStagesThatReadAgain) {
  for (const auto& stage : kStagesThatReadAgain) {
    const auto make = [&] {
      std::vector<Flow> flows;
      for (Flow& part : fan_out(Flow(Sequential(30)) | map(of_two_shapes), {.buffer = 3}))
        flows.push_back(part | stage());
      return flows;
    };
    for (const int taken : {1, 4, 7}) {
      std::vector<Flow> flows = make(), used = make();
      SCOPED_TRACE(flows[0].describe());
      const auto take = [&](std::vector<Flow>& from, int points) {
        on_threads(2, [&](std::size_t k) {
          for (int i = 0; i < points; ++i) from[k].next();
        });
      };
      take(flows, taken), take(used, 3);
      const std::vector<FlowState> states{flows[0].state(), flows[1].state()};
      const Log rest = rest_of(flows);
      std::vector<Flow> fresh = make();
      for (std::vector<Flow>* restored : {&fresh, &used}) {
        ASSERT_NO_THROW(restore_all(*restored, states));
        for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ((*restored)[k].state(), states[k]);
        const Log again = rest_of(*restored);
        for (std::size_t k = 0; k < 2; ++k) expect_same(again[k], rest[k]);
      }
    }
  }
}

TEST(FanOut, StatesThatDoNotFitAreErrors) {
  std::vector<Flow> parts = fan_out(numbered(9)), others = fan_out(numbered(9), {.each = Each::all});
  EXPECT_TRUE(
      contains(error_of([&] { parts[0].restore(without_identity(parts[1].state())); }), "with consumer = 0, got 1"));
  EXPECT_TRUE(
      contains(error_of([&] { parts[0].restore(without_identity(others[0].state())); }), "with all = 0, got 1"));
  std::vector<Flow> larger = fan_out(numbered(10));
  EXPECT_TRUE(contains(error_of([&] { parts[0].restore(without_identity(larger[0].state())); }),
                       "expected a state of 'fan_out' over"));
  const FlowState early = parts[0].state();
  parts[1].next(), parts[1].next();
  for (int passes = 0; passes < 2; ++passes) {
    for (Flow& part : parts) part.start_epoch(4);
    parts[0].next(), parts[1].next();
  }
  parts[0].restore(early);
  parts[1].restore(parts[1].state());
  EXPECT_EQ(error_of([&] { parts[0].next(); }),
            "[fan_out] expected states of one run, got consumer 0 at point 0 of pass 0 and consumer 1 at point 2 of "
            "pass 2. Take the states of all consumers together.");
  parts[1].start_epoch(0);
  EXPECT_EQ(error_of([&] { parts[1].next(); }),
            "[fan_out] expected consumers that are all restored or none, got consumer 0 restored and consumer 1 not.");
}

TEST(FanOut, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { fan_out(numbered(2), {.consumers = 0}); }), "[fan_out] expected 1 or more consumers, got 0.");
  EXPECT_EQ(error_of([] { fan_out(numbered(2), {.buffer = 0}); }),
            "[fan_out] expected a buffer of at least 1 point, got 0.");
}

}  // namespace
}  // namespace belfry
