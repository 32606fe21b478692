// What a session says when it is asked for something wrong: the rule, the facts, and the line that asked.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "belfry/ops/check_numerics.h"
#include "belfry/session/hooked_session.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

using testing_support::GraphTest;

// The text of f's error, with HERE for a line of f, which stands in the call of error_here, and ABOVE for one before
// it.
template <class F>
std::string error_here(F&& f, const Location& call = Location::current()) {
  std::string text = error_of(f), out;
  const std::regex line("session_error_test\\.cc:([0-9]+)");
  for (std::smatch match; std::regex_search(text, match, line); text = match.suffix()) {
    const unsigned long number = std::stoul(match[1]);
    const bool inside = number >= call.line() && number < call.line() + 4;
    out += match.prefix().str() + (inside ? "HERE" : number < call.line() ? "ABOVE" : "BELOW");
  }
  return out + text;
}

class SessionErrorTest : public GraphTest {};

TEST_F(SessionErrorTest, AnUnknownFetchNamesTheNearestAndTheLineThatAsked) {
  const Variable w = var("weights", Array(1.f));
  group({w.assign_add(1.f)}, "train_op");
  Session session(graph);
  const auto expected = [](const std::string& who, const std::string& name, const std::string& nearest) {
    return "[" + who + "] expected the name of a tensor or an operation to fetch, got '" + name +
           "' (called at HERE). Did you mean '" + nearest + "'?";
  };
  EXPECT_EQ(error_here([&] { session.run("weight"); }), expected("Session::run", "weight", "weights"));
  EXPECT_EQ(error_here([&] { session.run({w, "train_opp"}); }), expected("Session::run", "train_opp", "train_op"));
  EXPECT_EQ(error_here([&] { session.run(std::vector<Fetch>{"weight"}); }),
            expected("Session::run", "weight", "weights"));
  EXPECT_EQ(error_here([&] { session.explain({"weight"}); }), expected("Session::explain", "weight", "weights"));
}

TEST_F(SessionErrorTest, AFetchOrFeedOfAnotherGraphIsAnError) {
  Graph other;
  Tensor foreign;
  {
    const GraphScope inner(other);
    foreign = placeholder({"theirs", f32, {}});
  }
  const Tensor mine = placeholder({"mine", f32, {}});
  Session session(graph);
  EXPECT_EQ(error_here([&] { session.run(foreign); }),
            "[Session::run] expected fetches of the session's graph, got 'theirs' of another graph (called at HERE). "
            "Use that graph's session.");
  EXPECT_EQ(error_here([&] { session.run(Tensor()); }),
            "[Session::run] expected a tensor or operation to fetch, got an empty handle (called at HERE).");
  EXPECT_EQ(error_here([&] { session.run(mine, {{foreign, Array(1.f)}}); }),
            "[Session::run] expected feeds of the session's graph, got 'theirs' of another graph (called at HERE). "
            "Use that graph's session.");
  EXPECT_EQ(error_here([&] { session.run(mine, {{mine, Array(1.f)}, {mine, Array(1.f)}}); }),
            "[Session::run] expected each tensor to be fed once, got 'mine' twice (called at HERE).");
}

TEST_F(SessionErrorTest, WhatInitializeCannotRunNamesTheLineThatInitializes) {
  Graph other;
  get_variable("w", {.initializer = [&](const Shape& shape, DType) {
                 const GraphScope inner(other);
                 return constant(Array::zeros(f32, shape), "theirs");
               }});
  Session session(graph);
  EXPECT_EQ(error_here([&] { session.initialize(); }),
            "[Session::run] expected fetches of the session's graph, got 'theirs' of another graph (called at "
            "HERE). Use that graph's session.");
}

TEST_F(SessionErrorTest, AVariableThatCannotBeMadeSaysWhatToGive) {
  EXPECT_EQ(error_here([] { get_variable("v", {.shape = {kAny, 2}}); }),
            "[get_variable 'v'] expected a shape without unknown dimensions, got [?, 2] (made at HERE). Give every one "
            "a size: a variable keeps its shape.");
  const Initializer other = [](const Shape&, DType) { return constant(Array(1.f)); };
  EXPECT_EQ(error_here([&] { get_variable("v", {.shape = {2}, .initializer = other}); }),
            "[get_variable 'v'] expected an initial value of f32 [2], got f32 [] (made at HERE). The initializer must "
            "make the shape and type that it is given; or request a variable of the shape and type that it makes.");
}

TEST_F(SessionErrorTest, AWrongFeedShowsBothLines) {
  const Tensor x = placeholder({"x", f32, {kAny, 2}});
  Session session(graph);
  EXPECT_EQ(error_here([&] { session.run(x, {{x, Array::zeros(f32, {2, 3})}}); }),
            "[Session::run] expected f32 [?, 2] for 'x', got f32 [2, 3] (made at ABOVE) (called at HERE).");
}

TEST_F(SessionErrorTest, AVariableWithoutAValueIsNamedWhereverItIsMissed) {
  const Variable w = get_variable("w", {.shape = {2}}), b = get_variable("b", {.shape = {2}});
  Session session(graph);
  const std::string remedy = " Call session.initialize() or load a checkpoint first.";
  EXPECT_EQ(error_here([&] { session.run(w + b); }),
            "[Variable 'w'] expected a value before it is read, got none (made at ABOVE) (called at HERE)." + remedy +
                " Others without one: 'b'.");
  const Callable read = session.make_callable({w});
  EXPECT_EQ(
      error_here([&] { read(); }),
      "[Variable 'w'] expected a value before it is read, got none (made at ABOVE) (callable made at ABOVE)." + remedy);
  EXPECT_EQ(error_here([&] { session.value(b); }),
            "[Variable 'b'] expected a value, got none (made at ABOVE) (called at HERE)." + remedy);
  EXPECT_EQ(error_here([&] { session.value(Variable()); }),
            "[Session::value] expected a variable of the session's graph, got an empty handle (called at HERE).");
  session.initialize();
  EXPECT_EQ(session.run(w + b).shape(), Shape({2}));
}

TEST_F(SessionErrorTest, ManyVariablesWithoutAValueAreCounted) {
  Tensor sum = constant(Array(1.f));
  for (int i = 0; i < 9; ++i) sum = sum + var("v" + std::to_string(i), Array(1.f));
  Session session(graph);
  EXPECT_NE(error_of([&] { session.run(sum); }).find(" Others without one: 'v1', 'v2', 'v3', 'v4' and 4 more."),
            std::string::npos);
}

TEST_F(SessionErrorTest, AValueThatDoesNotFitShowsTheVariableAndBothLines) {
  const Variable w = get_variable("w", {.shape = {2}});
  Session session(graph);
  const std::string expected = "[Session::set_value] expected f32 [2] for 'w', got ",
                    lines = " (made at ABOVE) (called at HERE).";
  EXPECT_EQ(error_here([&] { session.set_value(w, Array::zeros(f32, {3})); }), expected + "f32 [3]" + lines);
  EXPECT_EQ(error_here([&] { session.set_value(w, Array::zeros(f64, {2})); }), expected + "f64 [2]" + lines);
  EXPECT_EQ(error_here([&] { session.set_value(w, 1e-3); }), expected + "f64 []" + lines);
  EXPECT_EQ(error_here([&] { session.set_value(Variable(), 1e-3); }),
            "[Session::set_value] expected a variable of the session's graph, got an empty handle (called at HERE).");
  EXPECT_FALSE(session.is_initialized(w));
}

TEST_F(SessionErrorTest, WhatTheEngineFindsNamesTheLineThatAskedOnce) {
  const Tensor x = placeholder({"x", f32, {kAny}}), z = placeholder({"z", f32, {kAny}});
  const Tensor sum = add(x, z, "sum"), checked = check_numerics(x, "the input", "check");
  const Variable w = var("w", Array(1.f));
  const Operation twice = group({w.assign(2.f), w.assign(3.f)});
  const Array two = Array::of<float>({2}, {1, 1}), three = Array::of<float>({3}, {1, 1, 1});
  Session session(graph);
  session.initialize();
  EXPECT_EQ(error_here([&] { session.run(sum, {{x, two}}); }),
            "[Placeholder 'z'] expected a value to be fed, got none (made at ABOVE). Feed it, or fetch something that "
            "does not depend on it (called at HERE).");
  const auto ends_with_line = [](const std::string& text) {
    const std::string line = "(called at HERE)";
    const std::size_t at = text.find(line);
    return at != std::string::npos && at == text.rfind(line) && at + line.size() + 1 >= text.size();
  };
  const std::string sizes = error_here([&] { session.run(sum, {{x, two}, {z, three}}); });
  EXPECT_TRUE(ends_with_line(sizes) && sizes.starts_with("[Add 'sum'] ")) << sizes;
  const std::string order = error_here([&] { session.run(twice); });
  EXPECT_TRUE(ends_with_line(order)) << order;
  const Array bad = Array::of<float>({1}, {INFINITY});
  EXPECT_EQ(error_here([&] { session.run(checked, {{x, bad}}); }),
            "[CheckNumerics 'check'] the input: expected finite values, got inf at [0] of [1] (made at ABOVE) (called "
            "at HERE).");
  EXPECT_THROW(session.run(checked, {{x, bad}}), NumericError) << "the type stays what it was";
}

TEST_F(SessionErrorTest, ACallableThatLacksAFeedIsAnErrorWhereItIsMade) {
  const Tensor x = placeholder({"x", f32, {kAny}}), z = placeholder({"z", f32, {kAny}});
  const Tensor sum = x + z;
  Session session(graph);
  EXPECT_EQ(error_here([&] { session.make_callable({sum}, {x}); }),
            "[Placeholder 'z'] expected a value to be fed, got none (made at ABOVE). Feed it, or fetch something that "
            "does not depend on it (called at HERE).");
  const std::vector<Array> feeds{Array(f32, {0}), Array(f32, {0})};
  EXPECT_EQ(session.make_callable({sum}, {x, z})(feeds)[0].shape(), Shape({0}));
}

TEST_F(SessionErrorTest, DevicesThatCannotBeNameTheLine) {
  EXPECT_EQ(error_here([&] { Session(graph, {.devices = {}}); }),
            "[Session] expected at least one device, got none (called at HERE). Omit SessionConfig::devices for one "
            "device with all cores.");
  EXPECT_EQ(
      error_here([&] { Session(graph, {.devices = {{-1}}}); }),
      "[Session] expected a device with 0 threads or more, got -1 (called at HERE). Use 0 for an equal share of the "
      "cores.");
  const std::string text = error_here([&] { Session(graph, {.devices = {{1000}, {1000}}}); });
  EXPECT_TRUE(text.ends_with(
      "threads in total, as many as cores, got 2000 (called at HERE). Give them fewer, or 0 for an equal share each."))
      << text;
}

TEST_F(SessionErrorTest, AHooksUnknownFetchNamesTheHook) {
  struct Typist final : SessionHook {
    HookRequest before_run(const RunContext&) override { return {.fetches = {"cots"}}; }
    std::string name() const override { return "Typist"; }
  };
  add(var("a", Array(1.f)), 1.f, "cost");
  Session session(graph);
  session.initialize();
  HookedSession hooked(session, {std::make_shared<Typist>()});
  const std::string expected = "[HookedSession::run] expected the name of a tensor or an operation to fetch, got ";
  EXPECT_EQ(error_here([&] { hooked.run("cost"); }),
            expected + "'cots' (asked for by hook 'Typist' in the call at HERE). Did you mean 'cost'?");
  EXPECT_EQ(error_here([&] { hooked.run({"costs"}); }), expected + "'costs' (called at HERE). Did you mean 'cost'?");
}

}  // namespace
}  // namespace belfry
