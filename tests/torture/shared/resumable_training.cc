#include "tests/torture/shared/resumable_training.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "belfry/base/file.h"
#include "belfry/belfry.h"
#include "belfry/loop/internal/history_file.h"

namespace belfry::torture {
namespace {

constexpr int kEpochs = 5;
constexpr std::int64_t kStepsPerEpoch = kSteps / kEpochs, kBatch = 4, kFeatures = 6;

Flow points(std::int64_t count, std::uint64_t seed) {
  std::vector<DataPoint> out;
  RandomStream random(seed);
  for (std::int64_t i = 0; i < count; ++i) {
    Array x(f32, {kFeatures});
    for (float& value : x.values<float>()) value = static_cast<float>(2 * random.uniform() - 1);
    const float label = x.values<float>()[0] * 2 - x.values<float>()[1] + 0.3f * x.values<float>()[2];
    out.push_back({std::move(x), Array(label)});
  }
  return from_list(std::move(out));
}

Flow training_data(const TrainingOptions& options) {
  const auto augment = [stall = options.stall_ms](DataPoint point, RandomStream& random) {
    if (stall > 0) ::usleep(static_cast<useconds_t>(stall) * 1000);
    Array x = point[0].clone();
    for (float& value : x.values<float>()) value += static_cast<float>(0.1 * random.uniform() - 0.05);
    return DataPoint{std::move(x), point[1]};
  };
  return points(37, 1) | shuffle(5) | map(augment, {.seed = 6, .threads = 2}) | batch(kBatch);
}

class Net final : public ModelDesc {
 public:
  explicit Net(std::string optimizer) : optimizer_(std::move(optimizer)) {}
  std::vector<TensorSpec> inputs() const override { return {{"x", f32, {kAny, kFeatures}}, {"y", f32, {kAny}}}; }
  Tensor build_graph(Inputs in) override {
    const Tensor hidden =
        in["x"] | fully_connected("fc0", {.units = 8, .activation = relu}) | batch_norm("bn") | dropout("drop", 0.25);
    const Tensor y = reshape(hidden | fully_connected("fc1", {.units = 1}), {-1});
    const Tensor cost = reduce_mean(square(y - in["y"]), "cost");
    add_moving_summary({cost});
    add_summary({reduce_max(abs(y), "largest")});
    return cost;
  }
  std::unique_ptr<Optimizer> optimizer() override {
    const Tensor rate = hyper_param("rate", 0.05f);
    if (optimizer_ == "sgd") return sgd({.learning_rate = rate});
    if (optimizer_ == "momentum") return momentum({.learning_rate = rate, .momentum = 0.9f});
    return adam({.learning_rate = rate});
  }

 private:
  std::string optimizer_;
};

// Two players with an optimizer each, and a run each: the second every other step.
class TwoPlayers final : public TowerTrainer {
 public:
  explicit TwoPlayers(const InputSourcePtr& input) {
    const std::vector<TensorSpec> signature{{"x", f32, {kAny, kFeatures}}, {"y", f32, {kAny}}};
    register_callbacks(input->setup(signature));
    set_tower_func(
        [](const Inputs& in) {
          const Tensor x = in["x"] | dropout("drop", 0.25);
          const Tensor a = reshape(x | fully_connected("a", {.units = 1}), {-1});
          const Tensor b = reshape(x | fully_connected("b", {.units = 1}), {-1});
          const Tensor first = reduce_mean(square(a - in["y"] + stop_gradient(b)), "cost");
          add_moving_summary({first});
          add_summary({reduce_max(abs(a), "largest")});
          return Tensors{first, reduce_mean(square(b - stop_gradient(a) * 0.5f), "second_cost")};
        },
        signature);
    const TrainTowerContext tower("");
    const Tensors costs = tower_func()(input->get_input_tensors());
    const Tensor rate = hyper_param("rate", 0.05f);
    const auto variables = [&](const char* scope) {
      std::vector<Variable> out;
      for (const Variable& v : tower.trainable_variables())
        if (v.name().starts_with(scope)) out.push_back(v);
      return out;
    };
    first_ = adam({.learning_rate = rate})->minimize(costs[0], variables("a/"), "first");
    second_ = momentum({.learning_rate = rate, .momentum = 0.9f})->minimize(costs[1], variables("b/"), "second");
  }
  void run_step() override {
    hooked_session().run(first_);
    if (iteration() % 2 == 0) hooked_session().run(second_);
  }

 private:
  Operation first_, second_;
};

// A SIGKILL, as if by the machine, in the callbacks of the `at`-th step.
class Kill final : public Callback {
 public:
  explicit Kill(std::int64_t at) : at_(at) {}
  void trigger_step() override {
    if (at_ > 0 && trainer().iteration() == at_) ::kill(::getpid(), SIGKILL);
  }
  bool declares_metrics() const override { return true; }

 private:
  std::int64_t at_;
};

// What a user's own callback may keep.
class CostSum final : public Callback {
 public:
  void setup_graph() override { trainer().monitors().declare(*this, "cost_sum"); }
  void before_epoch() override { sum_ = 0; }
  void resume_epoch() override {}
  HookRequest before_run(const RunContext& context) override {
    if (context.fetches.empty()) return {};
    return {.fetches = {"cost"}};
  }
  void after_run(const RunContext&, const RunValues& values) override {
    if (!values.empty()) sum_ += values[0].item();
  }
  void trigger_epoch() override { trainer().monitors().put_scalar("cost_sum", sum_); }
  std::string state() const override { return fmt::format("{:a}", sum_); }
  void restore(const std::string& state) override { sum_ = std::strtod(state.c_str(), nullptr); }
  bool declares_metrics() const override { return true; }

 private:
  double sum_ = 0;
};

Callbacks callbacks(const TrainingOptions& options) {
  return {PeriodicTrigger(ModelSaver({.keep = 3}), {.every_k_steps = 3, .every_k_epochs = 1}),
          CostSum(),
          InferenceRunner(points(options.samples, 2) | batch(kBatch), {ScalarStats("cost")}),
          MinSaver("validation_cost"),
          MaxSaver("validation_cost"),
          ScheduledHyperParamSetter("rate", {{1, 0.04}, {3, 0.01}}),
          Kill(options.kill_at)};
}

// Continues like .auto_resume, but leaves a part of the state as it is at the start.
SessionInit without(const std::string& directory, const std::string& part) {
  const ContinueRun whole(directory);
  const auto prepare = [whole, part](Session& session) {
    InitPlan plan = whole.prepare(session);
    const auto matches = [&](const std::string& key) { return key.find(part) != std::string::npos; };
    std::erase_if(plan.report.training, [&](const auto& entry) { return matches(entry.first); });
    const auto drop = [&](auto wanted) { std::erase_if(plan.values, [&](const auto& v) { return wanted(v.first); }); };
    if (part == "weights") drop([](const Variable& v) { return v.name() == "fc0/W"; });
    if (part == "slots") drop([](const Variable& v) { return v.name().find("fc0/W/") == 0; });
    if (part == "statistics") drop([](const Variable& v) { return v.name().find("bn/mean") == 0; });
    if (part == "rate") drop([](const Variable& v) { return v.name() == "rate"; });
    if (part == "step") {
      drop([](const Variable& v) { return v.name() == "global_step"; });
      plan.report.step = 0;
    }
    return plan;
  };
  return {"control", prepare, whole.continued()};
}

}  // namespace

const std::vector<std::string>& parts() {
  static const std::vector<std::string> all{"weights",    "slots",   "statistics", "rate",
                                            "step",       "loop",    "QueueInput", "monitors",
                                            "JSONWriter", "CostSum",   "MovingAverageSummary"};
  return all;
}

namespace {

std::string train_two_players(TrainConfig config) {
  TwoPlayers trainer(config.input);
  const StopOnSignal signals(trainer);
  const std::string reason = trainer.train_with_defaults({.callbacks = std::move(config.callbacks),
                                                          .session_config = config.session_config,
                                                          .session_init = config.session_init,
                                                          .steps_per_epoch = config.steps_per_epoch,
                                                          .max_epoch = config.max_epoch,
                                                          .run_dir = config.run_dir,
                                                          .auto_resume = config.auto_resume});
  signals.throw_if_interrupted();
  return reason;
}

}  // namespace

std::string train(const TrainingOptions& options) {
  Graph graph;
  graph.set_seed(7);
  const GraphScope scope(graph);
  get_global_step();
  TrainConfig config{.model = model<Net>(options.optimizer),
                     .input = QueueInput(training_data(options), {.show_size = false}),
                     .callbacks = callbacks(options),
                     .session_config = {.devices = {{1}}},
                     .steps_per_epoch = kStepsPerEpoch,
                     .max_epoch = kEpochs,
                     .run_dir = options.directory,
                     .auto_resume = options.without.empty()};
  if (!options.without.empty() && latest_checkpoint(options.directory))
    config.session_init = without(options.directory, options.without);
  if (options.trainer == "gan") return train_two_players(std::move(config));
  if (options.trainer == "simple") {
    SimpleTrainer trainer;
    return launch_train_with_config(std::move(config), trainer);
  }
  config.session_config.devices = {{1}, {1}};
  if (options.trainer == "ps") {
    SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
    return launch_train_with_config(std::move(config), trainer);
  }
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  return launch_train_with_config(std::move(config), trainer);
}

Result result_in(const std::string& directory) {
  Result out;
  const auto add = [&](const std::string& path, const std::string& prefix) {
    for (const auto& [name, tensor] : load_checkpoint(path).tensors) out.tensors[prefix + name] = tensor;
  };
  add(directory, "");
  add(directory + "/min-validation_cost", "best/");
  add(directory + "/max-validation_cost", "worst/");
  out.stats = read_file(directory + "/stats.json");
  const nlohmann::json mark = nlohmann::json::parse(load_checkpoint(directory).state.user.at("monitors"));
  out.history = HistoryFile::read(directory + "/history.bin", {mark.at("bytes"), mark.at("crc")});
  return out;
}

std::string difference(const Result& a, const Result& b) {
  if (a.stats != b.stats) return fmt::format("stats.json:\n{}\nand\n{}", a.stats, b.stats);
  if (a.history != b.history) return "the history of the metrics";
  if (a.tensors.size() != b.tensors.size()) return "the names of the tensors";
  for (const auto& [name, tensor] : a.tensors) {
    const auto other = b.tensors.find(name);
    if (other == b.tensors.end() || other->second.bytes() != tensor.bytes() ||
        std::memcmp(other->second.raw(), tensor.raw(), tensor.bytes()) != 0)
      return fmt::format("the tensor '{}'", name);
  }
  return "";
}

}  // namespace belfry::torture
