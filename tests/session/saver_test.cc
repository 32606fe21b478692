#include "belfry/session/saver.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>

#include "belfry/base/file.h"
#include "belfry/base/mutex.h"
#include "belfry/ops/random.h"
#include "belfry/session/session_init.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::all_equal;
using testing_support::file_error_of;
using testing_support::FullDisk;
using testing_support::GraphTest;
using testing_support::LogLines;
using testing_support::Model;
using testing_support::TempDir;
using testing_support::values_in;
using Names = std::vector<std::string>;

// Something one thread waits for and another lets happen.
class Gate {
 public:
  void open() {
    MutexLock lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }
  void pass() {
    MutexLock lock(mutex_);
    while (!is_open_) opened_.wait(mutex_);
  }

 private:
  Mutex mutex_;
  Condition opened_;
  bool is_open_ BELFRY_GUARDED_BY(mutex_) = false;
};

class SaverTest : public GraphTest {
 protected:
  Names names() const {
    Names out = dir.names();
    std::ranges::sort(out);
    return out;
  }
  TempDir dir;
};

TEST_F(SaverTest, AResumedRunEndsBitIdenticalToOneThatWasNotInterrupted) {
  graph.set_seed(17);
  const Model model;
  const Tensor noise = random_uniform({16});
  var("local", Array(5.f), false, {std::string(collection::kLocalVariables)});
  Session whole(graph), first(graph), second(graph);
  whole.initialize();
  for (int i = 0; i < 20; ++i) whole.run(model.train);
  first.initialize();
  for (int i = 0; i < 12; ++i) first.run(model.train);
  first.run(noise);
  {
    Saver saver(first, {.directory = dir.path()});
    saver.save(12, {.epoch = 2, .user = {{"data", "position 4"}}});
  }  // waits
  second.initialize();
  const InitReport report = ContinueRun(*latest_checkpoint(dir.path())).init(second);
  EXPECT_EQ(report.restored, (Names{"fc/W", "fc/W/adam_m", "fc/W/adam_v", "steps"}));
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty()) << "local variables are not saved";
  EXPECT_TRUE(all_equal(values_in(second, model), values_in(first, model)));
  EXPECT_TRUE(equal(second.run(noise), first.run(noise))) << "the random counter goes on where it was";
  for (int i = 0; i < 8; ++i) second.run(model.train);
  EXPECT_TRUE(all_equal(values_in(second, model), values_in(whole, model)));

  const CheckpointState state = load_checkpoint(dir / "model-12").state;
  EXPECT_EQ(state.step, 12);
  EXPECT_EQ(state.epoch, 2);
  EXPECT_EQ(state.seeds.at("graph"), 17u);
  EXPECT_EQ(state.user.at("data"), "position 4");
  EXPECT_TRUE(state.versions.contains("onednn"));
}

TEST_F(SaverTest, SaveReturnsBeforeTheFileIsThereAndTheValuesAreThoseOfThatMoment) {
  const Variable v = var("v", Array(1.f));
  const Tensor next = v.assign_add(1.f);
  Session session(graph);
  session.initialize();
  Gate gate;
  Saver saver(session, {.directory = dir.path(), .on_stage = [&](SaveStage) { gate.pass(); }});
  saver.save(1);
  EXPECT_TRUE(names().empty()) << "nothing can be written before the gate opens";
  session.run(next);  // training continues meanwhile
  gate.open();
  saver.wait();
  EXPECT_EQ(names(), (Names{"checkpoint", "model-1.json", "model-1.safetensors"}));
  EXPECT_EQ(load_checkpoint(dir / "model-1").tensors.at("v").item(), 1);
  EXPECT_EQ(session.value(v).item(), 2);
}

TEST_F(SaverTest, SavesFollowEachOtherAndOldOnesGo) {
  const Variable v = var("v", Array(0.f));
  const Tensor next = v.assign_add(1.f);
  Session session(graph);
  session.initialize();
  Saver saver(session, {.directory = dir.path(), .prefix = "net", .keep = 3});
  for (int step = 1; step <= 5; ++step) {
    session.run(next);
    saver.save(step);
  }
  EXPECT_EQ(saver.checkpoints(),
            (Names{dir / "net-3.safetensors", dir / "net-4.safetensors", dir / "net-5.safetensors"}));
  for (const std::string& path : saver.checkpoints()) {
    const Checkpoint loaded = load_checkpoint(path);
    EXPECT_EQ(loaded.tensors.at("v").item(), static_cast<double>(loaded.state.step));
  }
}

TEST_F(SaverTest, OneEveryFewHoursStaysForGood) {
  const Model model;
  Session session(graph);
  session.initialize();
  Saver saver(session, {.directory = dir.path(), .keep = 1, .keep_every_hours = 2});
  const auto save_at = [&](std::int64_t step, int hours) {
    saver.save(step);
    saver.wait();
    std::filesystem::last_write_time(dir / ("model-" + std::to_string(step) + ".safetensors"),
                                     std::filesystem::file_time_type::clock::now() + std::chrono::hours(hours));
  };
  save_at(1, 1);
  save_at(2, 3);  // the first that is two hours after the beginning
  save_at(3, 4);
  save_at(4, 6);
  save_at(5, 6);
  const auto is_there = [&](const char* name) { return std::filesystem::exists(dir / name); };
  EXPECT_FALSE(is_there("model-1.safetensors"));
  EXPECT_TRUE(is_there("model-2.safetensors"));
  EXPECT_FALSE(is_there("model-3.safetensors"));
  EXPECT_TRUE(is_there("model-4.safetensors"));
  EXPECT_TRUE(is_there("model-5.safetensors"));
  EXPECT_EQ(saver.checkpoints(), Names{dir / "model-5.safetensors"});
}

TEST_F(SaverTest, AFullDiskIsReportedForEverySaveAndTheOldCheckpointStays) {
  const Variable v = var("v", Array::full(f32, {50'000}, 1));
  const Tensor next = v.assign(v * 2.f);
  Session session(graph);
  session.initialize();
  Saver saver(session, {.directory = dir.path(), .keep = 1});
  saver.save(1);
  saver.wait();
  session.run(next);
  const auto text_for = [&](int step) {
    return "[Saver] expected to save step " + std::to_string(step) + " in '" + dir.path() +
           "', got: [file] expected to write '" + dir / ("model-" + std::to_string(step) + ".safetensors") +
           "', got: File too large. Free some space or choose another place. What was at this path before is "
           "unchanged.";
  };
  {
    FullDisk disk(10'000);
    EXPECT_NO_THROW(saver.save(2));
    EXPECT_EQ(file_error_of([&] { saver.save(3); }), text_for(2));
    EXPECT_EQ(file_error_of([&] { saver.save(4); }), text_for(3)) << "the save that reported was tried all the same";
    EXPECT_EQ(file_error_of([&] { saver.wait(); }), text_for(4));
    EXPECT_NO_THROW(saver.wait()) << "an error is delivered once";
    EXPECT_EQ(names(), (Names{"checkpoint", "model-1.json", "model-1.safetensors"}));
    EXPECT_EQ(load_checkpoint(*latest_checkpoint(dir.path())).tensors.at("v").item(49'999), 1);
  }
  saver.save(5);
  saver.wait();
  EXPECT_EQ(load_checkpoint(*latest_checkpoint(dir.path())).tensors.at("v").item(49'999), 2);
}

TEST_F(SaverTest, PollDoesNotWaitAndDeliversAFailureOnce) {
  var("v", Array(1.f));
  Session session(graph);
  session.initialize();
  Gate gate;
  Saver saver(session, {.directory = dir.path(), .on_stage = [&](SaveStage) {
                          gate.pass();
                          throw std::runtime_error("broken");
                        }});
  EXPECT_TRUE(saver.poll()) << "nothing is being written";
  saver.save(1);
  EXPECT_FALSE(saver.poll());
  gate.open();
  std::string text;
  while (text.empty()) {
    try {
      saver.poll();
    } catch (const FileError& error) {
      text = error.what();
    }
  }
  EXPECT_TRUE(contains(text, "expected to save step 1"));
  EXPECT_TRUE(saver.poll());
}

TEST_F(SaverTest, ADiskWithoutRoomForWhatIsKeptIsAWarningBeforeTheFirstSave) {
  var("v", Array::full(f32, {250'000}, 1));
  Session session(graph);
  session.initialize();
  LogLines log;
  {
    const Saver saver(session, {.directory = dir.path(), .keep = 2});
  }
  EXPECT_EQ(log.text, "");
  {
    const Saver saver(session, {.directory = dir.path(), .keep = 2'000'000'000});
  }
  EXPECT_TRUE(contains(log.text,
                       "[Saver] expected room for 2000000001 checkpoints of 1.0 MB each (2000000001.0 MB: "
                       ".keep is 2000000000, and a new one is written before the oldest is removed), got "))
      << log.text;
  EXPECT_TRUE(contains(log.text, " MB free in '" + dir.path() + "'. Free some space, keep fewer, or choose another"));
}

TEST_F(SaverTest, AnErrorThatNobodyAskedForIsLoggedAtTheEnd) {
  var("v", Array(1.f));
  Session session(graph);
  session.initialize();
  LogLines log;
  {
    Saver saver(session, {.directory = dir.path(), .on_stage = [](SaveStage) { throw std::runtime_error("broken"); }});
    saver.save(1);
  }
  EXPECT_EQ(log.text, "[Saver] expected to save step 1 in '" + dir.path() + "', got: broken\n");
}

TEST_F(SaverTest, AVariableWithoutAValueIsAnErrorAtOnceAndAnEarlierOneIsNotLost) {
  var("v", Array(1.f));
  Session session(graph);
  bool fails = true;
  Saver saver(session, {.directory = dir.path(), .on_stage = [&](SaveStage) {
                          if (fails) throw std::runtime_error("broken");
                        }});
  const std::string text = error_of([&] { saver.save(1); });
  EXPECT_TRUE(contains(text, "[Variable 'v'] expected a value, got none")) << text;
  EXPECT_TRUE(contains(text, "(called at saver_test.cc:" + std::to_string(__LINE__ - 2) + ")")) << text;
  EXPECT_TRUE(names().empty());
  session.initialize();
  saver.save(2);
  EXPECT_EQ(error_of([&] { saver.save(-1); }), "[Saver] expected a step of 0 or more, got -1.");
  EXPECT_TRUE(contains(file_error_of([&] { saver.wait(); }), "step 2"));
  fails = false;
  saver.save(3);
  EXPECT_NO_THROW(saver.wait());
}

TEST_F(SaverTest, AChangeOfTheWorkingDirectoryDoesNotMoveTheCheckpoints) {
  var("v", Array(1.f));
  Session session(graph);
  session.initialize();
  const std::string before = std::filesystem::current_path().string();
  ASSERT_EQ(chdir(dir.path().c_str()), 0);
  Saver saver(session, {.directory = "runs"});
  ASSERT_EQ(chdir(before.c_str()), 0);
  saver.save(1);
  saver.wait();
  EXPECT_TRUE(std::filesystem::exists(dir / "runs/model-1.safetensors"));
}

TEST_F(SaverTest, ASaveWithoutTheFilesThatItRefersToIsNotMade) {
  var("v", Array(1.f));
  Session session(graph);
  session.initialize();
  Saver saver(session, {.directory = dir / "run"});
  testing_support::put_bytes(dir / "history", "1 2 3");
  saver.save(1, {}, {.after = {dir / "history"}});
  EXPECT_NO_THROW(saver.wait());
  saver.save(2, {}, {.after = {dir / "history", dir / "gone"}});
  EXPECT_TRUE(contains(file_error_of([&] { saver.wait(); }), "expected to save step 2 in '" + dir / "run" +
                                                                 "', got: [file] expected to open '" + dir / "gone"));
  EXPECT_EQ(latest_checkpoint(dir / "run"), dir / "run/model-1.safetensors");
}

}  // namespace
}  // namespace belfry
