#include "belfry/session/session_init.h"

#include <gtest/gtest.h>

#include "belfry/array/npz.h"
#include "belfry/base/file.h"
#include "belfry/session/checkpoint_writer.h"
#include "belfry/session/export_model.h"
#include "belfry/session/safetensors.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::all_equal;
using testing_support::file_error_of;
using testing_support::GraphTest;
using testing_support::LogLines;
using testing_support::Model;
using testing_support::put_bytes;
using testing_support::TempDir;
using testing_support::values_in;
using Names = std::vector<std::string>;
using Values = std::map<std::string, Array>;

class SessionInitTest : public GraphTest {
 protected:
  // Runs `action`, which must not change the session, and gives the text of its error.
  template <class Action>
  std::string error_without_effect(const Session& session, const Model& model, Action&& action) {
    const std::vector<Array> before = values_in(session, model);
    const std::uint64_t counter = session.random_counter();
    const std::string text = error_of(action);
    EXPECT_TRUE(all_equal(values_in(session, model), before)) << text;
    EXPECT_EQ(session.random_counter(), counter);
    return text;
  }
  TempDir dir;
};

TEST_F(SessionInitTest, MissingAndUnexpectedNamesAreWarningsAndInTheReport) {
  const Model model;
  Session session(graph);
  session.initialize();
  LogLines log;
  const InitReport report = DictRestore({{"fc/W", Array::full(f32, {2, 3}, 4)},
                                         {"steps", Array(std::int64_t{9})},
                                         {"conv/W", Array(1.f)},
                                         {"conv/b", Array(1.f)}})
                                .init(session);
  EXPECT_EQ(report.restored, (Names{"fc/W", "steps"}));
  EXPECT_EQ(report.missing, (Names{"fc/W/adam_m", "fc/W/adam_v"}));
  EXPECT_EQ(report.unexpected, (Names{"conv/W", "conv/b"}));
  EXPECT_EQ(session.value(model.w).item(5), 4);
  EXPECT_EQ(session.value(model.steps).item(), 9);
  EXPECT_EQ(session.value(model.m).item(), 0);
  EXPECT_EQ(log.text,
            "[DictRestore] 2 of the graph's variables have no value there and keep theirs: 'fc/W/adam_m', "
            "'fc/W/adam_v'\n"
            "[DictRestore] 2 values belong to no variable of the graph and are not used: 'conv/W', 'conv/b'\n");
}

TEST_F(SessionInitTest, MismatchesAreOneErrorThatListsThemAllAndNothingIsSet) {
  const Model model;
  Session session(graph);
  session.initialize();
  const Values values{{"fc/W", Array::full(f32, {3, 2}, 4)},
                      {"fc/W/adam_m", Array::full(f64, {2, 3}, 4)},
                      {"fc/W/adam_v", Array::full(f32, {2, 3}, 4)},
                      {"steps", Array(std::int32_t{9})}};
  EXPECT_EQ(error_without_effect(session, model, [&] { DictRestore(values).init(session); }),
            "[DictRestore] expected values that fit the graph's variables, got:\n"
            "  'fc/W': expected f32 [2, 3], got f32 [3, 2]\n"
            "  'fc/W/adam_m': expected f32 [2, 3], got f64 [2, 3]\n"
            "  'steps': expected i64 [], got i32 []\n"
            "Nothing was changed. Build the graph that the values come from, or leave variables out with .ignore "
            "or .skip_mismatched.");
  const InitReport report = DictRestore(values, {.ignore = {"fc/W", "fc/W/adam_m", "steps"}}).init(session);
  EXPECT_EQ(report.restored, Names{"fc/W/adam_v"});
  EXPECT_EQ(report.ignored, (Names{"fc/W", "fc/W/adam_m", "steps"}));
  EXPECT_TRUE(report.missing.empty());
}

TEST_F(SessionInitTest, StrictMakesMissingAndUnexpectedNamesAnError) {
  const Model model;
  Session session(graph);
  session.initialize();
  const Values values{{"fc/W", Array::full(f32, {2, 3}, 4)}, {"x", Array(1.f)}, {"steps", Array(1.f)}};
  EXPECT_EQ(error_without_effect(session, model, [&] { DictRestore(values, {.strict = true}).init(session); }),
            "[DictRestore] expected values that fit the graph's variables, got:\n"
            "  'steps': expected i64 [], got f32 []\n"
            "  missing: 'fc/W/adam_m', 'fc/W/adam_v'\n"
            "  unexpected: 'x'\n"
            "Nothing was changed. Build the graph that the values come from, or leave variables out with .ignore "
            "or .skip_mismatched.");
  EXPECT_NO_THROW(
      DictRestore(values, {.ignore = {"steps", "x", "fc/W/adam_m", "fc/W/adam_v"}, .strict = true}).init(session));
}

TEST_F(SessionInitTest, ValuesOfWhichNoneFitsAreAnErrorEvenIfNotStrict) {
  const Model model;
  Session session(graph);
  session.initialize();
  CheckpointWriter({.directory = dir.path()})
      .write(1,
             {{"a/W", Array(1.f)},
              {"b/W", Array(1.f)},
              {"c/W", Array(1.f)},
              {"d/W", Array(1.f)},
              {"e/W", Array(1.f)},
              {"f/W", Array(1.f)},
              {"g/W", Array(1.f)}},
             {});
  EXPECT_EQ(
      error_without_effect(session, model, [&] { ContinueRun(dir.path()).init(session); }),
      "[ContinueRun '" + dir.path() +
          "'] expected values for the graph's variables ('fc/W', 'fc/W/adam_m', 'fc/W/adam_v', 'steps'), got none "
          "for any of them (there are values for 'a/W', 'b/W', 'c/W', 'd/W', 'e/W' and 2 more). Nothing was "
          "changed. Build the graph that the values come from, or pass .prefix if the names differ by one.");
  EXPECT_THROW(ContinueRun(dir.path(), {.ignore = {"steps", "a/W"}}).init(session), Error);
  EXPECT_THROW(SaverRestore(dir.path()).init(session), Error);
  EXPECT_NO_THROW(DictRestore({}).init(session)) << "there was nothing to fit";
}

TEST_F(SessionInitTest, ATruncatedOrHostileCheckpointLeavesTheSessionAlone) {
  const Model model;
  Session session(graph);
  session.initialize();
  CheckpointWriter writer({.directory = dir.path()});
  writer.write(1,
               {{"fc/W", Array::full(f32, {2, 3}, 9)},
                {"fc/W/adam_m", Array::full(f32, {2, 3}, 9)},
                {"fc/W/adam_v", Array::full(f32, {2, 3}, 9)},
                {"steps", Array(std::int64_t{9})}},
               {.random_counter = 99});
  const std::string good = read_file(dir / "model-1.safetensors");
  const auto restore = [&](const std::string& bytes) {
    put_bytes(dir / "bad.safetensors", bytes);
    return error_without_effect(session, model, [&] { ContinueRun(dir / "bad").init(session); });
  };
  for (std::size_t size = 0; size < good.size(); size += size < 64 ? 7 : 61)
    EXPECT_TRUE(restore(good.substr(0, size)).starts_with("[safetensors] '" + dir / "bad.safetensors" + "'")) << size;
  EXPECT_TRUE(contains(restore(good.substr(0, good.size() - 1)), "The file may be cut short."));
  std::string state = good;
  state.replace(state.find("random_counter"), 6, "Random");  // in the metadata: the tensors are fine
  EXPECT_TRUE(contains(restore(state), "expected a header with the checksum "));
  put_bytes(dir / "bad.safetensors", good);
  ContinueRun(dir / "bad").init(session);
  EXPECT_EQ(session.value(model.w).item(5), 9) << "the file itself was fine";
  EXPECT_EQ(session.random_counter(), 99u);
}

TEST_F(SessionInitTest, ADirectoryMeansItsLatestCheckpointWhenItIsRead) {
  const Model model;
  Session session(graph);
  session.initialize();
  CheckpointWriter writer({.directory = dir.path()});
  const ContinueRun restore(dir.path());
  for (const float value : {3.f, 4.f}) {
    writer.write(static_cast<std::int64_t>(value),
                 {{"fc/W", Array::full(f32, {2, 3}, value)},
                  {"fc/W/adam_m", Array::zeros(f32, {2, 3})},
                  {"fc/W/adam_v", Array::zeros(f32, {2, 3})},
                  {"steps", Array(std::int64_t{9})}},
                 {.random_counter = 7});
    EXPECT_EQ(restore.init(session).restored.size(), 4u);
    EXPECT_EQ(session.value(model.w).item(5), value);
    EXPECT_EQ(session.random_counter(), 7u);
  }
  EXPECT_TRUE(contains(error_without_effect(session, model, [&] { SaverRestore("/").init(session); }),
                       "[checkpoint] expected a directory with checkpoints, got '/'"));
}

TEST_F(SessionInitTest, NpzFromTensorpackKeepsItsNames) {
  const Model model;
  Session session(graph);
  session.initialize();
  write_npz(dir / "w.npz", {{"fc/W:0", Array::full(f32, {2, 3}, 3)}, {"steps", Array(std::int64_t{4})}});
  LogLines log;
  EXPECT_EQ(NpzRestore(dir / "w.npz").init(session).restored, (Names{"fc/W", "steps"}));
  EXPECT_EQ(session.value(model.w).item(), 3);
  EXPECT_TRUE(contains(log.text, "[NpzRestore '" + dir / "w.npz" + "'] 2 of the graph's variables"));

  write_npz(dir / "w.npz", {{"fc/W:0", Array(1.f)}, {"fc/W", Array(1.f)}});
  EXPECT_EQ(file_error_of([&] { NpzRestore(dir / "w.npz").init(session); }),
            "[NpzRestore '" + dir / "w.npz" +
                "'] expected one value a variable, got both 'fc/W' and 'fc/W:0'. Remove one of them.");
  EXPECT_TRUE(contains(file_error_of([&] { NpzRestore(dir / "none.npz").init(session); }), "No such file"));
}

TEST_F(SessionInitTest, APrefixMovesNamesIntoAScope) {
  const Model model("teacher/");
  Session session(graph);
  session.initialize();
  LogLines log;
  const InitReport report =
      DictRestore({{"fc/W", Array::full(f32, {2, 3}, 8)}, {"x", Array(1.f)}}, {.prefix = "teacher"}).init(session);
  EXPECT_EQ(report.restored, Names{"teacher/fc/W"});
  EXPECT_EQ(report.unexpected, Names{"teacher/x"});
  EXPECT_EQ(session.value(model.w).item(), 8);
}

TEST_F(SessionInitTest, InAChainTheLastValueWinsAndMissingIsWhatNobodyHas) {
  const Model model;
  Session session(graph);
  session.initialize();
  LogLines log;
  const InitReport report = ChainInit({DictRestore({{"fc/W", Array::full(f32, {2, 3}, 1)},
                                                    {"fc/W/adam_m", Array::full(f32, {2, 3}, 1)},
                                                    {"old", Array(1.f)}}),
                                       DictRestore({{"fc/W", Array::full(f32, {2, 3}, 2)}}), SessionInit()})
                                .init(session);
  EXPECT_EQ(report.restored, (Names{"fc/W", "fc/W/adam_m"}));
  EXPECT_EQ(report.missing, (Names{"fc/W/adam_v", "steps"}));
  EXPECT_EQ(report.unexpected, Names{"old"});
  EXPECT_EQ(session.value(model.w).item(), 2);
  EXPECT_EQ(session.value(model.m).item(), 1);

  const std::string text = error_without_effect(session, model, [&] {
    ChainInit({DictRestore({{"fc/W", Array::full(f32, {2, 3}, 7)}}), DictRestore({{"steps", Array(1.f)}})})
        .init(session);
  });
  EXPECT_TRUE(contains(text, "'steps': expected i64 [], got f32 []")) << "the first part was not applied either";
}

TEST_F(SessionInitTest, AUsersOwnInitIsCheckedLikeTheOthers) {
  const Model model;
  Session session(graph);
  session.initialize();
  const auto own = [&](const Array& value) {
    return SessionInit("Mine", [&model, value](Session&) { return InitPlan{.values = {{model.w, value}}}; });
  };
  own(Array::full(f32, {2, 3}, 6)).init(session);
  EXPECT_EQ(session.value(model.w).item(), 6);
  EXPECT_TRUE(error_of([&] { own(Array(1.f)).init(session); }).starts_with("[Mine] expected values that fit"));
  EXPECT_TRUE(SessionInit().init(session).restored.empty());
}

TEST_F(SessionInitTest, AnUninitialisedSessionCanBeFilledFromAFile) {
  const Model model;
  Session source(graph), session(graph);
  source.initialize();
  write_safetensors(dir / "all.safetensors", {{"fc/W", source.value(model.w)},
                                              {"fc/W/adam_m", source.value(model.m)},
                                              {"fc/W/adam_v", source.value(model.v)},
                                              {"steps", source.value(model.steps)}});
  DictRestore(read_safetensors(dir / "all.safetensors").tensors, {.strict = true}).init(session);
  EXPECT_TRUE(all_equal(values_in(session, model), values_in(source, model)));
}

class ExportTest : public SessionInitTest {
 protected:
  ExportTest() {
    var("conv/W", Array::of<float>({2}, {1.5f, -2}), true);
    var("bn/mean/EMA", Array(3.f), false, {"GLOBAL_VARIABLES", "MODEL_VARIABLES"});
    var("conv/W/momentum", Array(1.f));
    var("tower1/conv/W", Array(1.f), true, {"LOCAL_VARIABLES"});
    session.initialize();
  }
  const Values expected{{"conv/W", Array::of<float>({2}, {1.5f, -2})}, {"bn/mean/EMA", Array(3.f)}};
  Session session{graph};
};

void expect_values(const Values& got, const Values& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, value] : expected) EXPECT_TRUE(got.contains(name) && equal(got.at(name), value)) << name;
}

TEST_F(ExportTest, TheModelWithoutOptimizerStateGoesIntoEitherFormat) {
  export_model(session, dir / "m.npz");
  export_model(session, dir / "m.safetensors");
  save_npz(session, dir / "numpy");
  expect_values(read_npz(dir / "m.npz"), expected);
  expect_values(read_safetensors(dir / "m.safetensors").tensors, expected);
  expect_values(read_npz(dir / "numpy"), expected);
  LogLines log;
  const InitReport report = SaverRestore(dir / "m", {.strict = true}).init(session);
  EXPECT_EQ(report.restored, (Names{"bn/mean/EMA", "conv/W"}));
  EXPECT_TRUE(report.missing.empty()) << "momentum is no part of a model";
}

TEST_F(ExportTest, AnUnknownExtensionOrAnEmptyModelIsAnError) {
  EXPECT_EQ(file_error_of([&] { export_model(session, dir / "m.bin"); }),
            "[export_model] expected a path that ends in .npz or .safetensors, got '" + dir / "m.bin" +
                "'. The extension decides the format.");
  EXPECT_TRUE(dir.names().empty());
  Graph none;
  Session empty(none);
  EXPECT_EQ(error_of([&] { save_npz(empty, dir / "m.npz"); }),
            "[save_npz] expected a graph with trainable variables or MODEL_VARIABLES, got none to export.");
}

}  // namespace
}  // namespace belfry
