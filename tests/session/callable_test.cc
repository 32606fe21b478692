#include "belfry/session/callable.h"

#include <gtest/gtest.h>

#include "belfry/ops/matmul.h"
#include "belfry/ops/queue.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::GraphTest;
using Fetched = std::vector<Array>;

class CallableTest : public GraphTest {
 protected:
  Tensor x = placeholder({"x", f32, {kAny}});
  Tensor twice = multiply(x, 2.f, "twice"), sum = reduce_sum(x);
  Fetched one_two{Array::of<float>({2}, {1, 2})};
  Session session{graph};
};

TEST_F(CallableTest, ReusesItsOwnResults) {
  const Callable call = session.make_callable({twice}, {x});
  const void* first = call(one_two)[0].raw();
  const auto out = call(one_two);
  EXPECT_EQ(out[0].raw(), first);
  EXPECT_EQ(out[0].item(1), 4);
}

TEST_F(CallableTest, WritesIntoTheCallersArrays) {
  const Callable call = session.make_callable({twice, sum}, {x});
  Fetched mine{Array::zeros(f32, {2}), Array(0.f)}, others = call.make_results(one_two);
  const void* where = mine[0].raw();
  call(one_two, mine);
  EXPECT_EQ(mine[0].raw(), where);
  EXPECT_EQ(mine[0].item(1), 4);
  EXPECT_EQ(mine[1].item(), 3);
  call(Fetched{Array::of<float>({2}, {5, 6})}, others);  // every call may have its own arrays
  EXPECT_EQ(others[0].item(1), 12);
  EXPECT_EQ(mine[0].item(1), 4) << "the arrays of the call before are left alone";
  EXPECT_EQ(call(one_two)[1].item(), 3) << "and so are the callable's own";
}

TEST_F(CallableTest, FollowsTheShapesThatAreFed) {
  const Callable call = session.make_callable({twice}, {x});
  Fetched small = call.make_results(one_two);
  call(one_two, small);
  const Fetched longer{Array::full(f32, {5}, 3)};
  EXPECT_TRUE(contains(error_of([&] { call(longer, small); }),
                       "[callable] expected f32 [5] for the value of 'twice', got f32 [2] (made at callable_test.cc:"));
  Fetched large = call.make_results(longer);
  call(longer, large);
  EXPECT_EQ(large[0].item(4), 6);
  EXPECT_EQ(call(one_two)[0].shape(), Shape({2}));
}

TEST_F(CallableTest, AnOperationHasAnArrayThatIsLeftAlone) {
  const Variable v = var("v", Array(1.f));
  const Tensor more = v.assign_add(1.f);
  session.initialize();
  const Callable call = session.make_callable({Operation(more), v}, {});
  Fetched results = call.make_results();
  EXPECT_EQ(results[0].elements(), 0);
  results[0] = Array(77.f);
  call({}, results);
  EXPECT_EQ(results[0].item(), 77);
  EXPECT_EQ(results[1].item(), 1) << "a variable's value is that of the run's start";
  EXPECT_EQ(call()[1].item(), 2);
}

TEST_F(CallableTest, WhatIsFetchedTwiceIsGivenTwice) {
  const Variable v = var("v", Array::of<float>({2}, {5, 6}));
  session.initialize();
  const std::vector<Fetch> fetches{twice, "twice", v, v, x, x, sum, sum};
  const Callable call = session.make_callable(fetches, {x});
  Fetched mine = call.make_results(one_two);
  call(one_two, mine);
  const auto own = call(one_two);
  const Fetched run = session.run(fetches, {{x, one_two[0]}});
  const std::vector<double> second{4, 4, 6, 6, 2, 2};
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const double expected = i < second.size() ? second[i] : 3;
    for (const Array& value : {mine[i], own[i], run[i]}) EXPECT_EQ(value.item(value.elements() - 1), expected) << i;
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(mine[i].raw(), mine[k].raw());
  }
}

TEST_F(CallableTest, WhatIsFedTwiceIsAnErrorWhenTheCallableIsMade) {
  EXPECT_TRUE(contains(error_of([&] { session.make_callable({sum}, {x, x}); }),
                       "[make_callable] expected each tensor to be fed once, got 'x' twice (called at "
                       "callable_test.cc:"));
  EXPECT_TRUE(contains(error_of([&] { session.make_callable({sum}, {Tensor()}); }),
                       "[make_callable] expected feeds of the session's graph, got an empty handle"));
  EXPECT_TRUE(contains(error_of([&] { session.make_callable({"some"}, {x}); }),
                       "[make_callable] expected the name of a tensor or an operation to fetch, got 'some' (called at "
                       "callable_test.cc:"));
}

TEST_F(CallableTest, WrongArraysAreErrorsBeforeAnythingRuns) {
  const Variable v = var("v", Array(0.f));
  const Operation count(v.assign_add(1.f));
  session.initialize();
  const Callable call = session.make_callable({twice, count}, {x});
  Fetched results = call.make_results(one_two);
  const auto error = [&](std::span<const Array> feeds, std::span<Array> out) {
    return error_of([&] { call(feeds, out); });
  };
  EXPECT_TRUE(contains(error({}, results), "[callable] expected 1 feeds, got 0 (made at callable_test.cc:"));
  EXPECT_TRUE(
      contains(error({}, results), "). Pass an array for each tensor that make_callable() was given, in that order."));
  EXPECT_TRUE(contains(error(one_two, std::span(results).first(1)),
                       "[callable] expected 2 results, one for each fetch, got 1 (made at callable_test.cc:"));
  EXPECT_TRUE(contains(error(Fetched{Array::zeros(i32, {2})}, results),
                       "[callable] expected f32 [?] for 'x', got i32 [2] (made at "));
  Fetched wrong{Array::zeros(f64, {2}), Array()};
  EXPECT_TRUE(contains(error(one_two, wrong), "[callable] expected f32 [2] for the value of 'twice', got f64 [2]"));
  EXPECT_EQ(session.value(v).item(), 0);
  call(one_two, results);
  EXPECT_EQ(session.value(v).item(), 1) << "and it is usable afterwards";
  EXPECT_TRUE(contains(error_of([] { Callable()(); }), "[callable] expected one from make_callable(), got an empty"));
}

TEST_F(CallableTest, ResultsThatShareMemoryAreAnError) {
  const Callable call = session.make_callable({twice, x}, {x});
  const std::string text = "[callable] expected results in separate memory";
  Fetched same{one_two[0].clone()};
  same.push_back(same[0]);
  EXPECT_TRUE(contains(error_of([&] { call(one_two, same); }), text));
  Fetched fed{one_two[0], Array::zeros(f32, {2})};
  EXPECT_TRUE(contains(error_of([&] { call(one_two, fed); }), text));
  Array both = Array::zeros(f32, {3});
  const auto part = [&](int begin) { return Array(f32, {2}, both.values<float>().data() + begin, nullptr); };
  Fetched overlapping{part(0), part(1)};
  EXPECT_TRUE(contains(error_of([&] { call(one_two, overlapping); }), text));
  // The callable's own results are memory like any other.
  const auto own = call(one_two);
  EXPECT_TRUE(contains(error_of([&] { call(own.first(1)); }), text));
  EXPECT_EQ(call(Fetched{own[0].clone()})[0].item(1), 8);
}

TEST_F(CallableTest, DrawsTheSessionsNextRandomNumbers) {
  const Tensor noise = random_uniform({3});
  const Callable call = session.make_callable({noise});
  session.set_random_counter(5);
  const Array first = call()[0].clone(), second = call()[0].clone();
  EXPECT_FALSE(equal(first, second));
  session.set_random_counter(5);
  EXPECT_TRUE(equal(session.run(noise), first));
  EXPECT_TRUE(equal(session.run(noise), second));
}

TEST_F(CallableTest, DrawsByTheStepThatItIsGiven) {
  const Tensor noise = random_uniform({3});
  const Callable call = session.make_callable({noise}), with_feed = session.make_callable({noise}, {x});
  const Array at_7 = session.run(noise, {}, {.random_step = 7});
  EXPECT_TRUE(equal(call({}, {.random_step = 7})[0], at_7));
  EXPECT_FALSE(equal(call({}, {.random_step = 8})[0], at_7));
  EXPECT_TRUE(equal(with_feed(one_two, {.random_step = 7})[0], at_7));
  Fetched mine = call.make_results();
  call({}, mine, {.random_step = 7});
  EXPECT_TRUE(equal(mine[0], at_7));
  EXPECT_EQ(session.random_counter(), 0u) << "which is the sequence of runs that were given none";
}

// It would never come: nothing fills the queue.
TEST_F(CallableTest, NobodyWaitsForAPointIfAFeedIsWrong) {
  const Queue queue("q", {{"y", f32, {}}});
  const Callable call = session.make_callable({x + queue.dequeue()[0]}, {x});
  session.queue(queue)->close();
  EXPECT_TRUE(contains(error_of([&] { call(Fetched{Array::zeros(i32, {2})}); }),
                       "[callable] expected f32 [?] for 'x', got i32 [2]"));
}

TEST_F(CallableTest, ACallThatTakesNoPointForgetsTheOneBefore) {
  const Queue queue("q", {{"y", f32, {}}});
  const Tensor y = queue.dequeue()[0];
  const Callable taking = session.make_callable({y}), other = session.make_callable({sum}, {x});
  session.queue(queue)->put({{Array(1.f)}, std::make_shared<const int>(7)});
  taking();
  EXPECT_NE(session.taken_state(y), nullptr);
  other(one_two);
  EXPECT_EQ(session.taken_state(y), nullptr);
}

// Memory of ours whose end is told.
TEST_F(CallableTest, ThePointsOfACallEndWithIt) {
  const Queue queue("q", {{"y", f32, {2}}});
  const Callable call = session.make_callable({queue.dequeue()[0] * 2.f});
  auto memory = std::make_shared<std::vector<float>>(2, 4.f);
  const std::weak_ptr<std::vector<float>> watched = memory;
  session.queue(queue)->put({{Array(f32, {2}, memory->data(), memory)}});
  memory.reset();
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(call()[0].item(1), 8);
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace belfry
