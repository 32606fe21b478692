// A training continued from a checkpoint runs as if it had not been interrupted: every callback's state is in it,
// whatever its place in the order.
#include <gtest/gtest.h>

#include <map>

#include "belfry/base/file.h"
#include "belfry/callbacks/hyper_param_setter.h"
#include "belfry/callbacks/inference_runner.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/callbacks/monitors/json_writer.h"
#include "belfry/callbacks/monitors/scalar_printer.h"
#include "belfry/callbacks/progress_bar.h"
#include "belfry/callbacks/summaries.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/list.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/loop/step_counter.h"
#include "belfry/loop/triggers.h"
#include "belfry/nn/hyper_param.h"
#include "belfry/nn/summary.h"
#include "belfry/ops/reduce.h"
#include "belfry/session/session_init.h"
#include "belfry/train/trainers.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::TempDir;

Flow numbers(int count) {
  std::vector<DataPoint> points;
  for (int i = 0; i < count; ++i) points.push_back({Array(static_cast<float>(i * 5 % 7) / 7.f)});
  return from_list(std::move(points));
}

// w goes towards the data; what it is told besides is written down.
class Training {
 public:
  explicit Training(const TempDir& dir) : dir_(dir.path()) {
    trainer_.set_run_dir(dir_);
    get_global_step();
    trainer_.setup_graph(
        {{"x", f32, {kAny}}}, QueueInput(numbers(22) | shuffle(3) | batch(2)),
        [this](const Inputs& in) {
          w_ = get_variable("w", {.initializer = [](const Shape&, DType) { return constant(3.f); }});
          const Tensor cost = reduce_mean(square(in["x"] - w_), "cost");
          add_moving_summary({cost});
          add_summary({identity(w_, "weight")});
          return cost;
        },
        [] { return sgd({.learning_rate = hyper_param("rate", 0.1f)}); });
    // The order of the first example: the saver comes before those whose state it saves.
    trainer_.setup_callbacks(
        {ModelSaver(), InferenceRunner(numbers(6) | batch(4, Remainder::keep), {ScalarStats("cost")}),
         CallbackFactory({.trigger_epoch =
                              [](Trainer& t) {
                                const double metric[] = {5, 2, 3, 4, 1};
                                t.monitors().put_scalar("metric", metric[t.epoch_num() - 1]);
                              }}),
         MinSaver("metric"), ScheduledHyperParamSetter("rate", {{1, 0.2}, {4, 0.05}}),
         CallbackFactory({.before_epoch =
                              [](Trainer& t) {  // by hand, between two points of the schedule
                                if (t.epoch_num() != 2) return;
                                const Variable rate = t.graph().get_variable_by_name("rate");
                                t.session().set_value(rate, Array(0.15f));
                              }}),
         PeriodicTrigger(ScheduledHyperParamSetter("rate", {{1000, 1}}), {.every_k_epochs = 2}), MovingAverageSummary(),
         MergeAllSummaries({.every_k_steps = 3}), ProgressBar({.stream = nowhere_})},
        {JSONWriter(), ScalarPrinter()});
  }
  ~Training() { std::fclose(nowhere_); }

  struct Result {
    std::string stats, log;
    double w = 0, rate = 0;
    std::map<std::string, std::vector<Monitors::Entry>> history;
  };
  Result run(int from, int to, const SessionInit& init = {}) {
    trainer_.initialize({}, init);
    Result out;
    const LogRedirect redirect(
        [&](LogLevel, std::string_view line) {
          if (!line.starts_with("[")) out.log += std::string(line) + "\n";
        },
        LogLevel::info);
    trainer_.main_loop({.steps_per_epoch = 4, .starting_epoch = from, .max_epoch = to});
    out.stats = read_file(dir_ + "/stats.json");
    out.w = trainer_.session().value(w_).item();
    out.rate = trainer_.session().value(graph_.get_variable_by_name("rate")).item();
    for (const std::string& name : trainer_.monitors().names())
      if (name != "input_queue_size") out.history[name] = trainer_.monitors().history(name);
    return out;
  }

 private:
  std::string dir_;
  std::FILE* nowhere_ = std::fopen("/dev/null", "w");
  Graph graph_;
  GraphScope scope_{graph_};
  SimpleTrainer trainer_;
  Variable w_;
};

// The lines of the statistics without the queue's size, which depends on time.
std::string without_queue_size(std::string text) {
  for (std::size_t at = 0; (at = text.find("\"input_queue_size\":", at)) != std::string::npos;)
    text.erase(at, text.find(',', at) + 1 - at);
  return text;
}

TEST(ResumeTest, GoesOnAsIfNothingHadHappened) {
  const TempDir whole_dir;
  const Training::Result whole = Training(whole_dir).run(1, 5);
  for (const int end : {1, 3}) {
    const TempDir dir;
    Training(dir).run(1, end);
    const Training::Result rest = Training(dir).run(end + 1, 5, ContinueRun(dir.path()));
    EXPECT_EQ(rest.w, whole.w) << end;
    EXPECT_EQ(rest.rate, whole.rate) << end;
    EXPECT_EQ(rest.history, whole.history) << end;
    EXPECT_EQ(without_queue_size(rest.stats), without_queue_size(whole.stats)) << end;
    EXPECT_TRUE(std::filesystem::exists(dir / "min-metric-20.safetensors")) << end;
    EXPECT_EQ(std::filesystem::exists(dir / "min-metric-12.safetensors"), false) << end;
    EXPECT_TRUE(std::filesystem::exists(dir / "model-4.safetensors")) << end;
  }
}

// Values that were put since the last line was written are not lost, and not written twice.
TEST(ResumeTest, MonitorsKeepWhatIsNotWrittenYet) {
  Graph graph;
  const GraphScope scope(graph);
  const TempDir dir;
  JSONWriter writer, second_writer;
  ScalarPrinter printer, second_printer;
  Trainer trainer;
  trainer.set_run_dir(dir.path());
  for (Monitor* monitor : std::vector<Monitor*>{&writer, &second_writer, &printer, &second_printer})
    monitor->attach(trainer);
  writer.put_scalar("a", 1, 0);
  writer.trigger();
  for (Monitor* monitor : std::vector<Monitor*>{&writer, &printer}) monitor->put_scalar("b", 1e-310, 0);
  second_writer.restore(writer.state());
  second_printer.restore(printer.state());
  second_writer.before_train();  // its own file: not renamed
  second_writer.trigger();
  EXPECT_EQ(read_file(dir / "stats.json"),
            "[\n{\"epoch_num\":0,\"global_step\":0,\"a\":1.0},\n{\"epoch_num\":0,\"global_step\":0,\"b\":1e-310}\n]\n");
  std::string text;
  const LogRedirect redirect([&](LogLevel, std::string_view line) { text += line; }, LogLevel::info);
  second_printer.trigger();
  EXPECT_EQ(text, "b: 1e-310");
  EXPECT_TRUE(contains(error_of([&] { writer.restore("[]"); }), "[JSONWriter] expected the state that a checkpoint"));
  EXPECT_TRUE(
      contains(error_of([&] { printer.restore("7"); }), "[ScalarPrinter] expected the state that a checkpoint"));
}

TEST(ResumeTest, DamagedStatesAreNamed) {
  ScheduledHyperParamSetter setter("rate", {{1, 1.0}});
  EXPECT_TRUE(contains(error_of([&] { setter.restore("soon"); }), "[ScheduledHyperParamSetter] expected the state"));
  MinSaver saver("error");
  EXPECT_TRUE(contains(error_of([&] { saver.restore(R"({"found":true,"seen":1,"value":"low","step":1})"); }),
                       "[MinSaver] expected the state that a checkpoint keeps, got something else"));
  EXPECT_FALSE(saver.best().has_value());
}

}  // namespace
}  // namespace belfry
