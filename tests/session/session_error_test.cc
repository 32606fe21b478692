// What a session says when it is asked for something wrong: the rule, the facts, and the line that asked.
#include <gtest/gtest.h>

#include "belfry/session/hooked_session.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

using testing_support::error_of;
using testing_support::GraphTest;

class SessionErrorTest : public GraphTest {
 protected:
  static std::string here(int line) { return "session_error_test.cc:" + std::to_string(line); }
};

TEST_F(SessionErrorTest, AnUnknownFetchNamesTheNearestAndTheLineThatAsked) {
  const Variable w = var("weights", Array(1.f));
  group({w.assign_add(1.f)}, "train_op");
  Session session(graph);
  std::string text;
  const auto expected = [&](const char* who, const char* name, int line, const char* nearest) {
    return std::string("[") + who + "] expected the name of a tensor or an operation to fetch, got '" + name +
           "' (called at " + here(line) + "). Did you mean '" + nearest + "'?";
  };
  text = error_of([&] { session.run("weight"); });
  EXPECT_EQ(text, expected("Session::run", "weight", __LINE__ - 1, "weights"));
  text = error_of([&] { session.run({w, "train_opp"}); });
  EXPECT_EQ(text, expected("Session::run", "train_opp", __LINE__ - 1, "train_op"));
  text = error_of([&] { session.run(std::vector<Fetch>{"weight"}); });
  EXPECT_EQ(text, expected("Session::run", "weight", __LINE__ - 1, "weights"));
  text = error_of([&] { session.explain({"weight"}); });
  EXPECT_EQ(text, expected("Session::explain", "weight", __LINE__ - 1, "weights"));
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
  const auto at = [&](int line) { return " (called at " + here(line) + ")."; };
  std::string text = error_of([&] { session.run(foreign); });
  EXPECT_EQ(text, "[Session::run] expected fetches of the session's graph, got 'theirs' of another one" +
                      at(__LINE__ - 2) + " Use that graph's session.");
  text = error_of([&] { session.run(Tensor()); });
  EXPECT_EQ(text, "[Session::run] expected a tensor or operation to fetch, got an empty handle" + at(__LINE__ - 2));
  text = error_of([&] { session.run(mine, {{foreign, Array(1.f)}}); });
  EXPECT_EQ(text,
            "[Session::run] expected feeds of the session's graph, got 'theirs' of another one" + at(__LINE__ - 2));
  text = error_of([&] { session.run(mine, {{mine, Array(1.f)}, {mine, Array(1.f)}}); });
  EXPECT_EQ(text, "[Session::run] expected each tensor to be fed once, got 'mine' twice" + at(__LINE__ - 1));
}

TEST_F(SessionErrorTest, AWrongFeedShowsBothLines) {
  const Tensor x = placeholder({"x", f32, {kAny, 2}});
  const int made = __LINE__ - 1;
  Session session(graph);
  const std::string text = error_of([&] { session.run(x, {{x, Array::zeros(f32, {2, 3})}}); });
  EXPECT_EQ(text, "[Session::run] expected f32 [?, 2] for 'x', got f32 [2, 3] (made at " + here(made) +
                      ") (called at " + here(__LINE__ - 2) + ").");
}

TEST_F(SessionErrorTest, AVariableWithoutAValueIsNamedWhereverItIsMissed) {
  const Variable w = get_variable("w", {.shape = {2}}), b = get_variable("b", {.shape = {2}});
  const std::string made = "(made at " + here(__LINE__ - 1) + ")";
  Session session(graph);
  const std::string remedy = " Call session.initialize() or load a checkpoint first.";
  std::string text = error_of([&] { session.run(w + b); });
  EXPECT_EQ(text, "[Variable 'w'] expected a value before it is read, got none " + made + " (called at " +
                      here(__LINE__ - 2) + ")." + remedy + " Others without one: 'b'.");
  text = error_of([&] { session.value(b); });
  EXPECT_EQ(text,
            "[Variable 'b'] expected a value, got none " + made + " (called at " + here(__LINE__ - 1) + ")." + remedy);
  text = error_of([&] { session.make_callable({w})(); });
  EXPECT_EQ(text, "[Variable 'w'] expected a value before it is read, got none " + made + " (called at " +
                      here(__LINE__ - 2) + ")." + remedy);
  text = error_of([&] { session.value(Variable()); });
  EXPECT_EQ(text, "[Session::value] expected a variable of the session's graph, got an empty handle (called at " +
                      here(__LINE__ - 2) + ").");
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
  const std::string made = "(made at " + here(__LINE__ - 1) + ")";
  Session session(graph);
  std::string text = error_of([&] { session.set_value(w, Array::zeros(f32, {3})); });
  EXPECT_EQ(text, "[Session::set_value] expected f32 [2] for 'w', got f32 [3] " + made + " (called at " +
                      here(__LINE__ - 2) + ").");
  text = error_of([&] { session.set_value(w, Array::zeros(f64, {2})); });
  EXPECT_EQ(text, "[Session::set_value] expected f32 [2] for 'w', got f64 [2] " + made + " (called at " +
                      here(__LINE__ - 2) + ").");
  text = error_of([&] { session.set_value(w, 1e-3); });
  EXPECT_EQ(text, "[Session::set_value] expected f32 [2] for 'w', got f64 [] " + made + " (called at " +
                      here(__LINE__ - 2) + ").");
  text = error_of([&] { session.set_value(Variable(), 1e-3); });
  EXPECT_EQ(text, "[Session::set_value] expected a variable of the session's graph, got an empty handle (called at " +
                      here(__LINE__ - 2) + ").");
  EXPECT_FALSE(session.is_initialized(w));
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
  std::string text = error_of([&] { hooked.run("cost"); });
  EXPECT_EQ(text,
            "[HookedSession::run] expected the name of a tensor or an operation to fetch, got 'cots' (asked for by "
            "hook 'Typist' in the call at " +
                here(__LINE__ - 4) + "). Did you mean 'cost'?");
  text = error_of([&] { hooked.run({"costs"}); });
  EXPECT_NE(text.find("got 'costs' (called at " + here(__LINE__ - 1) + ")"), std::string::npos) << text;
}

}  // namespace
}  // namespace belfry
