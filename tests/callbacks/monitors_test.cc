// Where numbers go: the file of statistics, the log, the line on the screen.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "belfry/base/file.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/callbacks/monitors/json_writer.h"
#include "belfry/callbacks/monitors/scalar_printer.h"
#include "belfry/callbacks/progress_bar.h"
#include "tests/callbacks/callbacks_testing.h"

namespace belfry {
namespace {

class MonitorCallbacksTest : public testing_support::CallbacksTest {
 protected:
  // Puts "a", the epoch, and "b" at the end of each epoch.
  static CallbackFactory puts() {
    return CallbackFactory({.trigger_epoch = [](Trainer& t) {
      t.monitors().put_scalar("b", 0.123456);
      t.monitors().put_scalar("a", t.epoch_num());
    }});
  }
  nlohmann::json stats() const { return nlohmann::json::parse(read_file(directory + "/stats.json")); }

  // What the log gets while training.
  std::string logged(Callbacks callbacks, ScalarPrinterOptions options) {
    std::string text;
    const LogRedirect redirect([&](LogLevel, std::string_view line) { text += std::string(line) + "\n"; },
                               LogLevel::info);
    Trainer trainer;
    run(trainer, std::move(callbacks), {ScalarPrinter(std::move(options))});
    return text;
  }

  // What a progress bar writes while training.
  std::string bar(ProgressBarOptions options, Callbacks others = {}) {
    std::FILE* file = std::tmpfile();
    options.stream = file;
    others.emplace_back(ProgressBar(std::move(options)));
    Trainer trainer;
    run(trainer, std::move(others));
    std::string text(static_cast<std::size_t>(std::ftell(file)), ' ');
    std::rewind(file);
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
    std::fclose(file);
    return text;
  }
};

// While a directory is in the way of the file, which not even root can replace.
TEST_F(MonitorCallbacksTest, JSONWriterSurvivesFailuresThatDoNotLast) {
  const testing_support::LogLines log;
  const std::string file = directory + "/stats.json";
  Trainer trainer;
  run(trainer,
      {puts(), CallbackFactory({.before_epoch =
                                    [&](Trainer& t) {
                                      if (t.epoch_num() == 1) std::filesystem::create_directories(file + "/in the way");
                                      if (t.epoch_num() == 3) std::filesystem::remove_all(file);
                                    }})},
      {JSONWriter()});
  EXPECT_EQ(values(trainer, "failed_saves/stats.json"), (std::vector<double>{1, 2}));
  EXPECT_TRUE(log.text.starts_with("[JSONWriter] ")) << log.text;
  EXPECT_TRUE(contains(log.text, "(failure 1 in a row; 3 end training)\n")) << log.text;
  EXPECT_TRUE(log.text.ends_with("(failure 2 in a row; 3 end training)\n")) << log.text;
  const nlohmann::json list = stats();
  ASSERT_EQ(list.size(), 3U) << "nothing is lost";
  EXPECT_EQ(list[0]["a"], 1);
  EXPECT_EQ(list[1]["failed_saves/stats.json"], 1);
}

TEST_F(MonitorCallbacksTest, JSONWriterEndsTrainingAfterSoManyFailuresAndAfterOneOfTheLastWrite) {
  const testing_support::LogLines log;
  const std::string file = directory + "/stats.json";
  const auto block = [&](int epoch) {
    return CallbackFactory({.before_epoch = [&file, epoch](Trainer& t) {
      if (t.epoch_num() != epoch) return;
      std::filesystem::remove(file);
      std::filesystem::create_directories(file + "/in the way");
    }});
  };
  Trainer many, last;
  EXPECT_TRUE(testing_support::file_error_of([&] {
                run(many, {block(1)}, {JSONWriter("stats.json", 2)});
              }).starts_with("[JSONWriter] expected to write '" + file + "', got 2 failures in a row, the last one: "));
  EXPECT_EQ(many.epoch_num(), 2);
  std::filesystem::remove_all(file);
  EXPECT_THROW(run(last, {block(3)}, {JSONWriter()}), FileError);
  EXPECT_EQ(last.epoch_num(), 3);
}

TEST_F(MonitorCallbacksTest, JSONWriterListsEveryEpoch) {
  Trainer trainer;
  run(trainer,
      {CallbackFactory(
          {.trigger_epoch =
               [&](Trainer& t) { t.monitors().put_scalar("a", t.epoch_num() == 2 ? -std::nan("") : t.epoch_num()); }})},
      {JSONWriter()});
  const nlohmann::json list = stats();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].at("a"), 1);
  EXPECT_EQ(list[1].at("a"), "nan");
  EXPECT_EQ(list[2].at("epoch_num"), 3);
  EXPECT_EQ(list[2].at("global_step"), 6);
}

TEST_F(MonitorCallbacksTest, WhatWasPutInAnUnfinishedEpochIsWrittenToo) {
  const auto put_and_stop = [](Trainer& t) {
    t.monitors().put_scalar("a", 7);
    throw StopTraining("enough");
  };
  Trainer trainer;
  run(trainer, {CallbackFactory({.trigger_step = put_and_stop})}, {JSONWriter("numbers.json")});
  EXPECT_EQ(read_file(directory + "/numbers.json"), "[\n{\"epoch_num\":1,\"global_step\":1,\"a\":7.0}\n]\n");
}

TEST_F(MonitorCallbacksTest, StatisticsOfEarlierRunsAreKept) {
  testing_support::put_bytes(directory + "/stats.json", "[]");
  testing_support::put_bytes(directory + "/stats.json.old", "[{}]");
  Trainer trainer;
  run(trainer, {puts()}, {JSONWriter()});
  EXPECT_EQ(read_file(directory + "/previous-1/stats.json.old"), "[{}]");
  EXPECT_EQ(read_file(directory + "/previous-1/stats.json"), "[]");
  EXPECT_EQ(stats().size(), 3u);
}

// Of the same run, but written by somebody whose state is not in the checkpoint.
TEST_F(MonitorCallbacksTest, StatisticsThatTheCheckpointDoesNotKnowAreKeptToo) {
  Trainer first, second;
  run(first, {ModelSaver()});
  testing_support::put_bytes(directory + "/stats.json", "[]");
  testing_support::put_bytes(directory + "/stats.json.old", "[{}]");
  second.train_op = Operation(counted.node());
  second.train({.callbacks = {ModelSaver(), puts()},
                .monitors = {JSONWriter()},
                .session_init = ContinueRun(directory),
                .steps_per_epoch = 2,
                .starting_epoch = 4,
                .max_epoch = 5,
                .run_dir = directory});
  EXPECT_EQ(read_file(directory + "/stats.json.old"), "[{}]");
  EXPECT_EQ(read_file(directory + "/stats.json.old-2"), "[]");
  EXPECT_EQ(stats().size(), 2u);
}

TEST_F(MonitorCallbacksTest, ScalarPrinterLogsWhatWasPutByName) {
  EXPECT_TRUE(logged({puts()}, {}).starts_with("a: 1\nb: 0.12346\na: 2\n"));
}

TEST_F(MonitorCallbacksTest, ANaNIsLoggedWithoutASign) {
  const auto put = [](Trainer& t) { t.monitors().put_scalar("a", -std::nan("")); };
  EXPECT_TRUE(logged({CallbackFactory({.trigger_epoch = put})}, {}).starts_with("a: nan\na: nan\n"));
}

TEST_F(MonitorCallbacksTest, ScalarPrinterLogsSomeNamesOnly) {
  EXPECT_TRUE(logged({puts()}, {.only = {"a|c"}}).starts_with("a: 1\na: 2\na: 3\n"));
  EXPECT_TRUE(logged({puts()}, {.only = {"c.*", "a"}}).starts_with("a: 1\na: 2\na: 3\n"));
}

TEST_F(MonitorCallbacksTest, ScalarPrinterLeavesNamesOut) {
  EXPECT_TRUE(logged({puts()}, {.except = {"a"}}).starts_with("b: 0.12346\nb: 0.12346\n"));
  EXPECT_TRUE(logged({puts()}, {.except = {"a", "b"}}).starts_with("Training has ended"));
}

TEST_F(MonitorCallbacksTest, ScalarPrinterLogsEveryStepIfAsked) {
  const auto put = [](Trainer& t) { t.monitors().put_scalar("step", static_cast<double>(t.global_step())); };
  EXPECT_TRUE(logged({CallbackFactory({.trigger_step = put})}, {.every_step = true})
                  .starts_with("step: 1\nstep: 2\nstep: 3\n"));
}

TEST_F(MonitorCallbacksTest, ScalarPrinterNamesABadExpression) {
  EXPECT_TRUE(contains(error_of([&] { logged({}, {.except = {"a", "("}}); }),
                       "[ScalarPrinter] expected a regular expression, got \"(\""));
}

TEST_F(MonitorCallbacksTest, AProgressBarWritesALineAnEpochToAFile) {
  identity(counted, "shown");
  const std::string text = bar({.names = {"shown"}});
  EXPECT_TRUE(text.starts_with("epoch 1 2/2  ")) << text;
  for (const char* part : {" steps/s  shown 2  ", "epoch 2 2/2  ", "shown 4", "epoch 3 2/2  ", "shown 6"})
    EXPECT_TRUE(contains(text, part)) << text;
  EXPECT_FALSE(contains(text, "\r")) << text;
}

TEST_F(MonitorCallbacksTest, ABarIsDrawnOnATerminalAndClearedAtTheEndOfTheEpoch) {
  identity(counted, "shown");
  const std::string text = bar({.names = {"shown"}, .bar = true});
  EXPECT_TRUE(text.starts_with("\repoch 1 [===============               ] 1/2  ")) << text;
  EXPECT_TRUE(contains(text, " left  shown 1\033[K\r\033[Kepoch 1 2/2  ")) << text;
}

// Values are fetched only where they are shown: in the epoch's last step, where there is no bar.
TEST_F(MonitorCallbacksTest, AProgressBarFetchesOnlyWhatItShows) {
  const Variable seen = var("seen", Array(0.f));
  identity(seen.assign_add(1.f), "fetches");
  EXPECT_TRUE(contains(bar({.names = {"fetches"}}), "fetches 3"));
}

TEST_F(MonitorCallbacksTest, AProgressBarShowsScalars) {
  identity(var("vector", Array::zeros(f32, {3})), "shown");
  EXPECT_TRUE(
      contains(error_of([&] { bar({.names = {"shown"}}); }), "[ProgressBar] expected 'shown' to be a scalar, got"));
}

}  // namespace
}  // namespace belfry
