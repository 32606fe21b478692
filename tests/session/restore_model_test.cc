// What belongs to a model and what to the run that trained it: SaverRestore and ContinueRun, and their options.
#include <gtest/gtest.h>

#include "belfry/session/saver.h"
#include "belfry/session/session_init.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::GraphTest;
using testing_support::LogLines;
using testing_support::TempDir;
using Names = std::vector<std::string>;

struct InfoLines {
  std::string text;
  LogRedirect redirect{[this](LogLevel, std::string_view line) { text += std::string(line) + "\n"; }, LogLevel::info};
};

// A finished run: two layers with Adam's slots, batch statistics, a frozen weight, a rate that has come to 0.
class RestoreModelTest : public GraphTest {
 protected:
  RestoreModelTest() {
    for (const char* layer : {"fc0", "fc1"}) {
      const std::string w = std::string(layer) + "/W";
      var(w, Array::full(f32, {2, 3}, 7), true);
      var(w + "/Adam/m", Array::full(f32, {2, 3}, 0.5));
      var(w + "/Adam/v", Array::full(f32, {2, 3}, 0.25));
    }
    var("bn/mean/EMA", Array(3.f), false, {"GLOBAL_VARIABLES", "MODEL_VARIABLES"});
    var("frozen/W", Array(4.f), false, {"GLOBAL_VARIABLES", "MODEL_VARIABLES"});
    var("learning_rate", Array(0.f));
    var("Adam/step", Array(600.f));
    Session session(graph);
    session.initialize();
    session.set_random_counter(77);
    Saver(session, {.directory = dir.path()}).save(1200, {.epoch = 3, .user = {{"loop", "{}"}}});
  }
  TempDir dir;
};

// Another program: the same model with other initial values, its own rate, and classes of its own.
class NewProgram {
 public:
  explicit NewProgram(bool training = true, int classes = 3) {
    make("fc0/W", {2, 3}, 0, true);
    make("fc1/W", {2, classes}, 0, true);
    make("bn/mean/EMA", {}, 0, false, {"GLOBAL_VARIABLES", "MODEL_VARIABLES"});
    make("frozen/W", {}, 0, false, {"GLOBAL_VARIABLES", "MODEL_VARIABLES"});
    if (training) {
      for (const char* slot : {"fc0/W/Adam/m", "fc0/W/Adam/v"}) make(slot, {2, 3}, 0);
      for (const char* slot : {"fc1/W/Adam/m", "fc1/W/Adam/v"}) make(slot, {2, classes}, 0);
      make("learning_rate", {}, 0.001);
      make("Adam/step", {}, 0);
      make("global_step", {}, 0);
    }
    session.initialize();
  }
  double operator[](const std::string& name) const { return session.value(graph.get_variable_by_name(name)).item(); }

 private:
  static void make(const std::string& name, const Shape& shape, double value, bool trainable = false,
                   std::vector<std::string> collections = {}) {
    get_variable(name, {.shape = shape,
                        .initializer = [value](const Shape& s, DType t) { return constant(Array::full(t, s, value)); },
                        .trainable = trainable,
                        .collections = std::move(collections)});
  }
  Graph graph;
  GraphScope scope{graph};

 public:
  Session session{graph};
};

TEST_F(RestoreModelTest, AnotherRunTakesTheModelAndKeepsItsOwnRateAndSlots) {
  NewProgram program;
  const InfoLines log;
  const InitReport report = SaverRestore(dir.path()).init(program.session);
  EXPECT_EQ(report.restored, (Names{"bn/mean/EMA", "fc0/W", "fc1/W", "frozen/W"}));
  EXPECT_EQ(report.of_the_run,
            (Names{"Adam/step", "fc0/W/Adam/m", "fc0/W/Adam/v", "fc1/W/Adam/m", "fc1/W/Adam/v", "learning_rate"}));
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  EXPECT_EQ(program["fc1/W"], 7);
  EXPECT_EQ(program["bn/mean/EMA"], 3);
  EXPECT_EQ(program["frozen/W"], 4);
  EXPECT_FLOAT_EQ(static_cast<float>(program["learning_rate"]), 0.001f);
  EXPECT_EQ(program["Adam/step"], 0);
  EXPECT_EQ(program["fc0/W/Adam/m"], 0);
  EXPECT_FALSE(report.step.has_value());
  EXPECT_TRUE(report.training.empty());
  EXPECT_EQ(program.session.random_counter(), 0u);
  EXPECT_EQ(log.text,
            "[SaverRestore '" + dir.path() +
                "'] did not take what belongs only to the run that saved it: 2 x Adam/m, 2 x Adam/v, 'Adam/step' (600 "
                "there, stays 0), 'learning_rate' (0 there, stays 0.001), 'global_step' (1200 there). "
                "ContinueRun takes everything.\n");
}

TEST_F(RestoreModelTest, LoadingForInferenceGroupsWhatItDoesNotUse) {
  NewProgram program(false);
  const InfoLines log;
  const InitReport report = SaverRestore(dir.path(), {.strict = true}).init(program.session);
  EXPECT_EQ(report.restored.size(), 4u);
  EXPECT_EQ(log.text,
            "[SaverRestore '" + dir.path() +
                "'] did not take what belongs only to the run that saved it: 2 x Adam/m, 2 x Adam/v, 'Adam/step' (600 "
                "there), 'learning_rate' (0 there), 'global_step' (1200 there). ContinueRun takes everything.\n");
}

TEST_F(RestoreModelTest, ContinuingTakesEverything) {
  NewProgram program;
  const LogLines log;
  const InitReport report = ContinueRun(dir.path()).init(program.session);
  EXPECT_EQ(report.restored.size(), 10u);
  EXPECT_EQ(program["learning_rate"], 0);
  EXPECT_EQ(program["Adam/step"], 600);
  EXPECT_EQ(program["fc0/W/Adam/m"], 0.5);
  EXPECT_EQ(report.step, 1200);
  EXPECT_EQ(report.training.at("loop"), "{}");
  EXPECT_EQ(program.session.random_counter(), 77u);
  EXPECT_EQ(log.text, "[ContinueRun '" + dir.path() +
                          "'] 1 of the graph's variables have no value there and keep theirs: 'global_step'\n");
}

TEST_F(RestoreModelTest, ARunCannotBeContinuedFromAnExportedModel) {
  EXPECT_EQ(ContinueRun(dir.path()).continued(), Names{dir.path()});
  EXPECT_TRUE(SaverRestore(dir.path()).continued().empty());
  NewProgram program;
  const std::string path = dir / "model.safetensors";
  {
    SaverRestore(dir.path()).init(program.session);
  }
  testing_support::put_bytes(path, std::string("\x02\0\0\0\0\0\0\0{}", 10));
  EXPECT_TRUE(contains(error_of([&] { ContinueRun(path).init(program.session); }), "Is it an exported model?"));
}

TEST_F(RestoreModelTest, OtherShapesAreSkippedWhenAskedFor) {
  NewProgram program(true, 5);
  EXPECT_TRUE(contains(error_of([&] { SaverRestore(dir.path()).init(program.session); }),
                       "'fc1/W': expected f32 [2, 5], got f32 [2, 3]"));
  const InfoLines log;
  const InitReport report = SaverRestore(dir.path(), {.skip_mismatched = true}).init(program.session);
  EXPECT_EQ(report.mismatched, Names{"fc1/W"});
  EXPECT_TRUE(report.missing.empty());
  EXPECT_EQ(program["fc0/W"], 7);
  EXPECT_EQ(program["fc1/W"], 0);
  EXPECT_TRUE(contains(log.text,
                       "'] 1 variables keep their values, because their shapes differ: 'fc1/W' ([2, 3] there, "
                       "[2, 5] here)\n"))
      << log.text;
}

TEST_F(RestoreModelTest, IgnoreTakesExpressionsForWholeNames) {
  NewProgram program;
  const InitReport report = SaverRestore(dir.path(), {.ignore = {"fc./W", "learning_rate"}}).init(program.session);
  EXPECT_EQ(report.ignored, (Names{"fc0/W", "fc1/W", "learning_rate"})) << "'fc0/W/Adam/m' matches in part only";
  EXPECT_EQ(report.restored, (Names{"bn/mean/EMA", "frozen/W"}));
  EXPECT_EQ(program["fc0/W"], 0);
  EXPECT_EQ(
      error_of([&] { SaverRestore(dir.path(), {.ignore = {"fc1/w"}}).init(program.session); }),
      "[SaverRestore '" + dir.path() +
          "'] expected .ignore to match variables, got \"fc1/w\", which matches none of 'Adam/step', "
          "'bn/mean/EMA', 'fc0/W', 'fc0/W/Adam/m', 'fc0/W/Adam/v' and 6 more. Did you mean 'fc1/W' or 'fc0/W'? An "
          "expression has to match a whole name.");
  EXPECT_TRUE(contains(error_of([&] { ContinueRun(dir.path(), {.ignore = {"fc("}}).init(program.session); }),
                       "expected an ECMAScript regular expression, got \"fc(\""));
  EXPECT_FALSE(ContinueRun(dir.path(), {.ignore = {"global_step"}}).init(program.session).step.has_value());
}

TEST_F(RestoreModelTest, AGraphWithoutAModelIsAnError) {
  Graph empty;
  const GraphScope inside(empty);
  var("centers", Array(1.f));
  Session session(empty);
  session.initialize();
  EXPECT_TRUE(contains(error_of([&] { SaverRestore(dir.path()).init(session); }),
                       "expected a graph with trainable variables or MODEL_VARIABLES, got none."));
}

TEST_F(RestoreModelTest, ManyVariablesWithoutAValueAreGroupedByScope) {
  for (int i = 0; i < 12; ++i)
    for (const char* name : {"/W", "/b"}) var("block" + std::to_string(i) + name, Array(0.f), true);
  Session session(graph);
  session.initialize();
  const LogLines log;
  EXPECT_EQ(SaverRestore(dir.path()).init(session).missing.size(), 24u);
  EXPECT_EQ(log.text, "[SaverRestore '" + dir.path() +
                          "'] 24 of the graph's variables have no value there and keep theirs: 'block0' (W, b), "
                          "'block1' (W, b), 'block10' (W, b), 'block11' (W, b), 'block2' (W, b), 'block3' (W, b), "
                          "'block4' (W, b), 'block5' (W, b) and 4 more scopes\n");
}

}  // namespace
}  // namespace belfry
