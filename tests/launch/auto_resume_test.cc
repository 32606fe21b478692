// .auto_resume: the same program, started again, goes on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "belfry/base/file.h"
#include "belfry/callbacks/inference_runner.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/dataflow/map.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/session/checkpoint.h"
#include "tests/launch/launch_testing.h"

namespace belfry {
namespace {

class AutoResumeTest : public testing_support::LaunchTest {
 protected:
  // Three steps an epoch.
  TrainConfig run(int epochs, Callbacks more = {}) {
    TrainConfig c = config();
    c.callbacks = {ModelSaver()};
    for (Handle<Callback>& callback : more) c.callbacks.push_back(std::move(callback));
    c.max_epoch = epochs;
    c.auto_resume = true;
    return c;
  }
  static std::int64_t launch(TrainConfig c) {
    SimpleTrainer trainer;
    launch_train_with_config(std::move(c), trainer);
    return trainer.global_step();
  }
  static Handle<Callback> metric(std::vector<double> by_epoch) {
    return CallbackFactory({.trigger_epoch = [by_epoch](Trainer& t) {
      t.monitors().put_scalar("error", by_epoch.at(static_cast<std::size_t>(t.epoch_num() - 1)));
    }});
  }
  nlohmann::json runs() { return nlohmann::json::parse(read_file(dir / "run.json")).at("runs"); }
  std::string logged;
  const LogRedirect redirect{[this](LogLevel, std::string_view text) { (logged += text) += '\n'; }, LogLevel::info};
};

TEST_F(AutoResumeTest, BeginsThenGoesOnThenHasNothingLeft) {
  EXPECT_EQ(launch(run(2)), 6);
  EXPECT_EQ(launch(run(4)), 12);
  EXPECT_EQ(launch(run(4)), 12);
  EXPECT_TRUE(contains(logged, "Nothing is left to train: the continued run has finished epoch 4 before.")) << logged;
  EXPECT_FALSE(std::filesystem::exists(dir / "previous-1"));
  const nlohmann::json stats = nlohmann::json::parse(read_file(dir / "stats.json"));
  ASSERT_EQ(stats.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(stats[static_cast<std::size_t>(i)].at("epoch_num"), i + 1);
}

TEST_F(AutoResumeTest, AnEpochThatWasCutShortIsFinished) {
  const Handle<Callback> stop = CallbackFactory({.trigger_step = [](Trainer& t) {
    if (t.global_step() == 4) t.request_stop("signal 15", true);
  }});
  EXPECT_EQ(launch(run(3, {stop})), 4);
  std::vector<std::int64_t> ends;
  EXPECT_EQ(launch(run(3, {CallbackFactory({.trigger_epoch = [&](Trainer& t) { ends.push_back(t.global_step()); }})})),
            9);
  EXPECT_EQ(ends, (std::vector<std::int64_t>{6, 9}));
}

// The hook goes on with the callback that was cut short; those before it are not called again.
TEST_F(AutoResumeTest, AHookThatWasCutShortIsCompleted) {
  std::vector<std::string> calls;
  bool interrupts = true;
  const auto note = [&](const char* what) {
    return CallbackFactory(
        {.trigger_epoch = [&calls, what](Trainer& t) { calls.push_back(what + std::to_string(t.epoch_num())); },
         .name = what});
  };
  const auto callbacks = [&] {
    return Callbacks{note("before"), metric({3, 2, 1}), MinSaver("error"),
                     CallbackFactory({.trigger_epoch =
                                          [&](Trainer& t) {
                                            if (t.epoch_num() == 2 && interrupts) t.request_stop("signal 15", true);
                                            t.run_interruptibly([&] { calls.push_back("validation"); });
                                          },
                                      .name = "validation"}),
                     note("after")};
  };
  launch(run(3, callbacks()));
  EXPECT_EQ(calls, (std::vector<std::string>{"before1", "validation", "after1", "before2"}));
  EXPECT_FALSE(std::filesystem::exists(dir / "min-error-6.safetensors")) << "its turn was not complete";
  calls.clear();
  interrupts = false;
  launch(run(3, callbacks()));
  EXPECT_EQ(calls, (std::vector<std::string>{"validation", "after2", "before3", "validation", "after3"}));
  EXPECT_EQ(load_checkpoint(dir / "min-error").state.step, 9);
}

TEST_F(AutoResumeTest, RunJsonKnowsTheRuns) {
  launch(run(1));
  launch(run(2));
  const nlohmann::json all = runs();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].at("state"), "finished");
  EXPECT_EQ(all[0].at("exit"), 0);
  EXPECT_EQ(all[0].at("process"), ::getpid());
  EXPECT_EQ(all[0].at("step"), 3);
  EXPECT_FALSE(all[0].contains("from"));
  EXPECT_EQ(all[1].at("from").at("checkpoint"), "model-3.safetensors");
  EXPECT_EQ(all[1].at("reason"), "finished epoch 2");
  EXPECT_TRUE(all[1].at("auto_resume"));
  const Handle<Callback> fails =
      CallbackFactory({.trigger_step = [](Trainer&) { throw std::runtime_error("no more disks"); }});
  EXPECT_THROW(launch(run(3, {fails})), std::runtime_error);
  EXPECT_EQ(runs()[2].at("state"), "failed");
  EXPECT_EQ(runs()[2].at("reason"), "no more disks");
}

TEST_F(AutoResumeTest, AnotherProgramsRunIsNotContinued) {
  launch(run(1));
  nlohmann::json record = nlohmann::json::parse(read_file(dir / "run.json"));
  record["runs"][0]["program"] = "another";
  write_file_atomically(dir / "run.json", record.dump());
  const std::string text = error_of([&] { launch(run(2)); });
  EXPECT_TRUE(contains(text, "[auto_resume] expected '" + dir.path() + "' to hold a run of '")) << text;
  EXPECT_TRUE(contains(text, "', got one of 'another'. Choose another run_dir, or begin anew without auto_resume."));
  EXPECT_EQ(load_checkpoint(dir.path()).state.step, 3);
}

TEST_F(AutoResumeTest, DamagedCheckpointsAreNeverTakenForNone) {
  launch(run(2));
  std::string bytes = read_file(dir / "model-6.safetensors");
  bytes.back() ^= 1;
  write_file_atomically(dir / "model-6.safetensors", bytes);
  EXPECT_EQ(launch(run(2)), 6) << "from step 3";
  EXPECT_TRUE(contains(logged, "model-6.safetensors")) << logged;
  for (const char* name : {"model-3.safetensors", "model-6.safetensors"})
    write_file_atomically(dir / name, read_file(dir / name).substr(0, 100));
  EXPECT_THROW(launch(run(2)), FileError);
  EXPECT_FALSE(std::filesystem::exists(dir / "previous-1"));
}

TEST_F(AutoResumeTest, AnotherModelIsAnErrorWithATable) {
  launch(run(1));
  class Wider final : public ModelDesc {
   public:
    std::vector<TensorSpec> inputs() const override { return {{"x", f32, {kAny, 4}}, {"label", i32, {kAny}}}; }
    Tensor build_graph(Inputs in) override {
      const Tensor logits = in["x"] | fully_connected("fc", {.units = 3}) | fully_connected("more", {.units = 3});
      return reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
    }
    std::unique_ptr<Optimizer> optimizer() override { return sgd({.learning_rate = 0.1f}); }
  };
  TrainConfig c = run(2);
  c.model = model<Wider>();
  const std::string text = error_of([&] { launch(std::move(c)); });
  EXPECT_TRUE(contains(text, "missing: ")) << text;
  EXPECT_TRUE(contains(text, "more/W")) << text;
  EXPECT_TRUE(contains(text, "Nothing was changed.")) << text;
}

// A MinSaver that does not get its state back (there are two in other places now) must not take a worse value for the
// best, and remove the checkpoint of the best.
TEST_F(AutoResumeTest, TheBestCheckpointStaysWhenItsStateIsLost) {
  launch(run(2, {metric({0.5, 0.0182}), MinSaver("error")}));
  const std::string best = read_file(dir / "min-error-6.safetensors");
  launch(run(3, {MaxSaver("error"), metric({0.5, 0.0182, 0.894}), CallbackFactory({}), MinSaver("error"),
                 MinSaver("error", {.prefix = "second"})}));
  EXPECT_EQ(read_file(dir / "min-error-6.safetensors"), best);
  EXPECT_TRUE(contains(logged, "is better and stays")) << logged;
}

// An infinity in one datapoint: training goes back to the last checkpoint, and on with the points after it.
TEST_F(AutoResumeTest, RollsBackAndSkipsTheData) {
  int points = 0;
  TrainConfig c = run(3);
  c.dataflow = {};
  c.input = FeedInput(testing_support::data() | batch(4) | map([&](DataPoint point) {
                        if (++points == 5) point[0] = Array::full(f32, {4, 4}, std::numeric_limits<double>::infinity());
                        return point;
                      }));
  c.on_bad_cost = OnBadCost::roll_back;
  SimpleTrainer trainer;
  EXPECT_EQ(launch_train_with_config(std::move(c), trainer), "finished epoch 3");
  EXPECT_EQ(trainer.global_step(), 9);
  EXPECT_EQ(points, 11) << "two points were used for nothing: the bad one and the one before it";
  EXPECT_EQ(trainer.monitors().latest("roll_backs"), 1);
  EXPECT_TRUE(std::isfinite(trainer.monitors().latest("cost").value()));
  EXPECT_TRUE(contains(logged, "Training goes back from step 5 to '" + dir / "model-3.safetensors")) << logged;
}

TEST_F(AutoResumeTest, RollingBackWithoutACheckpointSaysWhatIsMissing) {
  TrainConfig c = run(2);
  c.dataflow = from_list({{Array::full(f32, {1, 4}, std::numeric_limits<double>::infinity()), Array::zeros(i32, {1})}});
  c.on_bad_cost = OnBadCost::roll_back;
  const std::string text = error_of<NumericError>([&] { launch(std::move(c)); });
  EXPECT_TRUE(contains(text, "There is no checkpoint yet to go back to. Add a ModelSaver")) << text;
}

}  // namespace
}  // namespace belfry
