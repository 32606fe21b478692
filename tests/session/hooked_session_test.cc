#include "belfry/session/hooked_session.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <thread>

#include "belfry/ops/basic.h"
#include "belfry/ops/random.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::GraphTest;
using testing_support::LogLines;

// A hook made of what it asks for and what it does; writes down when it is called.
class Probe final : public SessionHook {
 public:
  Probe(std::string name, std::vector<std::string>& calls) : name_(std::move(name)), calls_(calls) {}

  HookRequest before_run(const RunContext& context) override {
    calls_.push_back("before " + name_);
    if (on_before) on_before(context);
    return request;
  }
  void after_run(const RunContext& context, const RunValues& values) override {
    calls_.push_back("after " + name_);
    got = values;
    if (on_after) on_after(context);
  }
  std::string name() const override { return name_; }

  HookRequest request;
  std::function<void(const RunContext&)> on_before, on_after;
  RunValues got;

 private:
  std::string name_;
  std::vector<std::string>& calls_;
};

class HookedSessionTest : public GraphTest {
 protected:
  std::shared_ptr<Probe> probe(const char* name) { return std::make_shared<Probe>(name, calls); }

  using Calls = std::vector<std::string>;
  Calls calls;
};

TEST_F(HookedSessionTest, HooksRunAroundTheStepInOrderAndGetOnlyWhatTheyAskedFor) {
  const Tensor x = placeholder({"x", f32, {}});
  const Tensor twice = multiply(x, 2.f, "twice"), thrice = x * 3.f, sum = twice + thrice;
  Session session(graph);
  const auto a = probe("a"), b = probe("b");
  a->request.fetches = {"twice", sum};
  b->request = {.fetches = {thrice, thrice}, .feeds = {{x, Array(10.f)}}};
  HookedSession hooked(session, {a, b});
  const std::vector<Array> out = hooked.run({sum});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].item(), 50);
  ASSERT_EQ(a->got.size(), 2u);
  EXPECT_EQ(a->got[0].item(), 20);
  EXPECT_EQ(a->got[1].item(), 50);
  ASSERT_EQ(b->got.size(), 2u);
  EXPECT_EQ(b->got[0].item(), 30);
  EXPECT_EQ(b->got[1].item(), 30);
  EXPECT_EQ(calls, (Calls{"before a", "before b", "after a", "after b"}));
}

TEST_F(HookedSessionTest, AHooksFetchesBelongToTheSameExecutionAsTheTrainOp) {
  const Variable v = var("v", Array(1.f));
  const Tensor next = v.assign_add(1.f);
  Session session(graph);
  session.initialize();
  const auto hook = probe("hook");
  hook->request.fetches = {v, next, Fetch(Operation(next))};
  HookedSession hooked(session, {hook});
  for (int step = 1; step <= 3; ++step) {
    EXPECT_EQ(hooked.run(next).item(), step + 1);
    EXPECT_EQ(hook->got[0].item(), step) << "a read sees the value at the start of the run";
    EXPECT_EQ(hook->got[1].item(), step + 1);
    EXPECT_EQ(hook->got[2].elements(), 0) << "an operation has no value";
    EXPECT_EQ(session.value(v).item(), step + 1) << "the assignment ran once, though three asked for it";
  }
}

TEST_F(HookedSessionTest, DuplicateFetchesAreComputedOnceHoweverTheyAreSpelled) {
  const Tensor x = placeholder({"x", f32, {}});
  const Tensor y = add(x, 1.f, "y");
  Session session(graph);
  const auto a = probe("a"), b = probe("b");
  a->request.fetches = {"y"};
  b->request.fetches = {y};
  HookedSession hooked(session, {a, b});
  const Array out = hooked.run("y", {{x, Array(1.f)}});
  EXPECT_EQ(out.raw(), a->got[0].raw());
  EXPECT_EQ(out.raw(), b->got[0].raw());
}

TEST_F(HookedSessionTest, ATensorFedByTwoPartiesIsAnErrorThatNamesBothAndNothingRuns) {
  const Tensor x = placeholder({"x", f32, {}});
  const Variable v = var("v", Array(1.f));
  const Tensor next = v.assign_add(x);
  Session session(graph);
  session.initialize();
  const auto a = probe("FeedInput"), b = probe("Staging");
  a->request.feeds = {{x, Array(1.f)}};
  HookedSession hooked(session, {a, b});
  EXPECT_EQ(error_of([&] { hooked.run(next, {{x, Array(2.f)}}); }),
            "[HookedSession] expected each tensor to be fed once in a run, got 'x' from the caller and from hook "
            "'FeedInput'. Feed it in one of the two.");
  b->request.feeds = {{x, Array(1.f)}};
  EXPECT_TRUE(contains(error_of([&] { hooked.run(next); }), "'x' from hook 'FeedInput' and from hook 'Staging'"));
  EXPECT_EQ(session.value(v).item(), 1);
  b->request.feeds = {};
  EXPECT_EQ(hooked.run(next).item(), 2) << "usable afterwards";
}

TEST_F(HookedSessionTest, AnErrorBeforeTheRunStopsItAndTheOtherHooksAreStillAsked) {
  const Variable v = var("v", Array(1.f));
  const Tensor next = v.assign_add(1.f);
  Session session(graph);
  session.initialize();
  const auto a = probe("a"), b = probe("b"), c = probe("c");
  b->on_before = [](const RunContext&) { throw std::out_of_range("no more data"); };
  c->on_before = [](const RunContext&) { throw std::runtime_error("second"); };
  HookedSession hooked(session, {a, b, c});
  LogLines log;
  try {
    hooked.run(next);
    FAIL() << "expected the hook's error";
  } catch (const std::out_of_range& e) {  // its type is kept
    EXPECT_STREQ(e.what(), "no more data");
  }
  EXPECT_EQ(session.value(v).item(), 1);
  EXPECT_EQ(calls, (Calls{"before a", "before b", "before c"}));
  EXPECT_TRUE(contains(log.text, "before_run of 'c' failed too: second")) << log.text;
}

TEST_F(HookedSessionTest, AnErrorAfterTheRunSkipsNoHookAndTheFirstIsThrown) {
  const Variable v = var("v", Array(1.f));
  const Tensor next = v.assign_add(1.f);
  Session session(graph);
  session.initialize();
  const auto a = probe("a"), b = probe("b"), c = probe("c");
  a->on_after = [](const RunContext&) { throw std::out_of_range("first"); };
  b->on_after = [](const RunContext&) { throw 7; };
  c->request.fetches = {next};
  HookedSession hooked(session, {a, b, c});
  LogLines log;
  EXPECT_THROW(hooked.run(next), std::out_of_range);
  EXPECT_EQ(calls, (Calls{"before a", "before b", "before c", "after a", "after b", "after c"}));
  EXPECT_EQ(c->got[0].item(), 2);
  EXPECT_TRUE(contains(log.text, "after_run of 'b' failed too")) << log.text;
}

TEST_F(HookedSessionTest, ARunThatFailsReachesTheCallerAndNoAfterRun) {
  const Tensor x = placeholder({"x", f32, {}});
  const Tensor y = x + 1.f;
  Session session(graph);
  const auto a = probe("a");
  HookedSession hooked(session, {a});
  EXPECT_TRUE(contains(error_of([&] { hooked.run(y); }), "[Placeholder 'x'] expected a value to be fed"));
  EXPECT_EQ(calls, Calls{"before a"});
  a->request.fetches = {"yy"};
  EXPECT_TRUE(contains(error_of([&] { hooked.run(y, {{x, Array(1.f)}}); }), "'yy'"));
}

TEST_F(HookedSessionTest, TheHookThatCountsGivesTheRandomStepUnlessTheCallerDoes) {
  const Tensor noise = random_uniform({8});
  Session session(graph);
  const auto counter = probe("counter"), other = probe("other");
  counter->request.random_step = 5;
  HookedSession hooked(session, {counter, other});
  const Array at_5 = session.run(noise, {}, {.random_step = 5}), at_6 = session.run(noise, {}, {.random_step = 6});
  EXPECT_TRUE(equal(hooked.run(noise), at_5));
  EXPECT_TRUE(equal(hooked.run(noise, {}, {.random_step = 6}), at_6));
  EXPECT_EQ(session.random_counter(), 0u);
  other->request.random_step = 5;
  EXPECT_EQ(error_of([&] { hooked.run(noise); }),
            "[HookedSession] expected one hook to give the step of random ops, got hook 'counter' and hook 'other'.");
}

TEST_F(HookedSessionTest, AnEmptyRunStillCallsTheHooks) {
  const Variable v = var("v", Array(1.f));
  const Tensor next = v.assign_add(1.f);
  Session session(graph);
  session.initialize();
  const auto a = probe("a");
  HookedSession hooked(session, {a});
  EXPECT_TRUE(hooked.run({}).empty());
  EXPECT_EQ(calls, (Calls{"before a", "after a"}));
  a->request.fetches = {Fetch(Operation(next))};
  EXPECT_TRUE(hooked.run({}).empty());
  EXPECT_EQ(session.value(v).item(), 2) << "what a hook asks for runs, though the caller asked for nothing";
}

TEST_F(HookedSessionTest, AHookSeesTheRunAndMayUseTheSessionAndStop) {
  const Tensor x = placeholder({"x", f32, {}});
  const Tensor y = x * 2.f;
  Session session(graph);
  const auto a = probe("a");
  double own = 0;
  a->on_after = [&](const RunContext& run) {
    EXPECT_EQ(run.fetches.size(), 1u);
    EXPECT_EQ(run.feeds[0].first, x);
    own = run.session.run(y, {{x, Array(100.f)}}).item();
    run.hooked.request_stop();
  };
  HookedSession hooked(session, {a});
  EXPECT_FALSE(hooked.should_stop());
  EXPECT_EQ(hooked.run(y, {{x, Array(1.f)}}).item(), 2);
  EXPECT_EQ(own, 200);
  EXPECT_TRUE(hooked.should_stop());
  EXPECT_EQ(calls.size(), 2u);
}

TEST_F(HookedSessionTest, AnotherThreadMayAskToStop) {
  const Variable v = var("v", Array(1.f));
  Session session(graph);
  session.initialize();
  HookedSession hooked(session);
  std::thread other([&] { hooked.request_stop(); });
  while (!hooked.should_stop()) hooked.run(v);
  other.join();
}

TEST_F(HookedSessionTest, AHookWithoutANameIsCalledByItsClass) {
  struct Quiet : SessionHook {};
  EXPECT_TRUE(contains(Quiet().name(), "Quiet")) << Quiet().name();
  Session session(graph);
  EXPECT_EQ(error_of([&] { HookedSession hooked(session, {nullptr}); }),
            "[HookedSession] expected hooks, got a null pointer among them.");
}

TEST_F(HookedSessionTest, ValuesOfARunStayWhatTheyAre) {
  const Variable v = var("v", Array(1.f));
  const Tensor next = v.assign_add(1.f);
  Session session(graph);
  session.initialize();
  const auto hook = probe("hook");
  hook->request.fetches = {next};
  HookedSession hooked(session, {hook});
  const Array first = hooked.run(next);
  const RunValues seen = hook->got;
  EXPECT_EQ(hooked.run(next).item(), 3);
  EXPECT_EQ(first.item(), 2);
  EXPECT_EQ(seen[0].item(), 2);
}

TEST_F(HookedSessionTest, WhoAskedForWhatMayChangeFromRunToRun) {
  const Tensor x = placeholder({"x", f32, {}}), y = placeholder({"y", f32, {}});
  const Tensor twice = multiply(x, 2.f, "twice"), both = subtract(x, y, "both");
  Session session(graph);
  const auto a = probe("a"), b = probe("b");
  HookedSession hooked(session, {a, b});
  const Feeds in{{x, Array(5.f)}, {y, Array(3.f)}};
  for (int round = 0; round < 2; ++round) {
    a->request = {.fetches = {twice, both}};
    b->request = {};
    EXPECT_EQ(hooked.run(twice, in).item(), 10);
    EXPECT_EQ(a->got[1].item(), 2);
    EXPECT_TRUE(b->got.empty());
    a->request = {.fetches = {twice}};
    b->request = {.fetches = {both}};
    EXPECT_EQ(hooked.run(twice, in).item(), 10);
    EXPECT_EQ(a->got.size(), 1u);
    EXPECT_EQ(b->got[0].item(), 2);
    b->request = {.fetches = {"both", "twice"}, .feeds = {in[1]}};
    EXPECT_EQ(hooked.run(twice, {in[0]}).item(), 10);
    EXPECT_EQ(b->got[0].item(), 2);
    EXPECT_EQ(b->got[1].item(), 10);
    a->request = {.fetches = {twice}, .feeds = {{x, Array(7.f)}}};  // the same, fed by others
    EXPECT_EQ(hooked.run(twice).item(), 14);
    EXPECT_EQ(b->got[0].item(), 4);
    EXPECT_EQ(hooked.run({}, {}, {}).size(), 0u);
    EXPECT_EQ(b->got[1].item(), 14);
    a->request = {};
    EXPECT_EQ(hooked.run(twice, {{x, Array(1.f)}}).item(), 2);
    EXPECT_EQ(b->got[0].item(), -2);
  }
}

TEST_F(HookedSessionTest, ErrorsOfARunThatIsKnownNameTheLineOfTheirOwnCall) {
  const Tensor x = placeholder({"x", f32, {kAny}});
  const Tensor y = x + 1.f;
  Session session(graph);
  HookedSession hooked(session, {probe("a")});
  const Array good = Array::zeros(f32, {2}), bad = Array::zeros(i32, {2});
  const auto run = [&](const Array& fed, const Location& where) { hooked.run(y, {{x, fed}}, {}, where); };
  const auto called_at = [](const Location& line) { return "(called at " + to_string(line) + ")."; };
  run(good, Location::current());
  const Location second = Location::current();
  const std::string text = error_of([&] { run(bad, second); });
  EXPECT_TRUE(text.starts_with("[Session::run] expected f32 [?] for 'x', got i32 [2]")) << text;
  EXPECT_TRUE(text.ends_with(called_at(second))) << text;
  run(good, second);
  session.cancel();
  const Location third = Location::current();
  EXPECT_EQ(error_of<Cancelled>([&] { run(good, third); }),
            "[Session::run] expected a session that may run, got one that was cancelled " + called_at(third));
}

TEST_F(HookedSessionTest, FetchesThatTheSessionCannotHaveAreErrorsInEveryRun) {
  Session session(graph);
  HookedSession hooked(session, {probe("a")});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(contains(error_of([&] { hooked.run(Tensor()); }),
                         "[Session::run] expected a tensor or operation to fetch, got an empty handle"));
    EXPECT_TRUE(contains(error_of([&] { hooked.run("cots"); }),
                         "[HookedSession::run] expected the name of a tensor or an operation to fetch, got 'cots'"));
  }
}

}  // namespace
}  // namespace belfry
