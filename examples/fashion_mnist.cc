// Trains a convnet on Fashion-MNIST: a model, its data, the callbacks, and a trainer chosen by name.
#include <belfry/belfry.h>
#include <fmt/core.h>

#include <memory>

#include "tools/command_line.h"
#include "tools/resume_option.h"

namespace bf = belfry;

namespace {

class FashionNet final : public bf::ModelDesc {
 public:
  std::vector<bf::TensorSpec> inputs() const override {
    return {{"image", bf::f32, {bf::kAny, 28, 28, 1}}, {"label", bf::i32, {bf::kAny}}};
  }

  bf::Tensor build_graph(bf::Inputs in) override {
    const auto conv = bf::conv2d({.filters = 32, .kernel = 3, .activation = bf::relu});
    const bf::Tensor logits = (in["image"] * 2.f - 1.f) | conv("conv0") | bf::max_pool("pool0", 2) | conv("conv1") |
                              conv("conv2") | bf::max_pool("pool1", 2) | conv("conv3") |
                              bf::fully_connected("fc0", {.units = 512, .activation = bf::relu}) |
                              bf::dropout("drop", 0.5) | bf::fully_connected("fc1", {.units = 10});
    bf::softmax(logits, "prob");  // a name that a predictor asks for later

    const bf::Tensor wrong = bf::prediction_incorrect(logits, in["label"], "incorrect");
    const bf::Tensor loss = bf::reduce_mean(bf::sparse_softmax_cross_entropy(logits, in["label"]), "cross_entropy");
    const bf::Tensor cost = bf::add(loss, bf::regularize_cost("fc.*/W", bf::l2(1e-5f)), "cost");
    bf::add_moving_summary({bf::reduce_mean(wrong, "train_error"), loss, cost});
    return cost;
  }

  std::unique_ptr<bf::Optimizer> optimizer() override {
    return bf::adam({.learning_rate = bf::hyper_param("learning_rate", 1e-3f)});
  }
};

struct Options {
  int epochs = 5, batch = 128, threads = 0, devices = 1;
  std::uint64_t seed = 1;
  std::string trainer = "simple", resume = "never";
};

std::unique_ptr<bf::SingleCostTrainer> make_trainer(const Options& options) {
  if (options.trainer == "ps")
    return std::make_unique<bf::SyncMultiDeviceTrainerParameterServer>(bf::cpu_devices(options.devices));
  if (options.trainer == "replicated")
    return std::make_unique<bf::SyncMultiDeviceTrainerReplicated>(bf::cpu_devices(options.devices));
  if (options.trainer == "async")
    return std::make_unique<bf::AsyncMultiDeviceTrainer>(bf::cpu_devices(options.devices));
  return std::make_unique<bf::SimpleTrainer>();
}

// Lowers the learning rate tenfold over the last two fifths.
bf::ScheduledHyperParamSetter::Schedule schedule(int epochs) {
  if (epochs < 3) return {{1, 1e-4}};
  return {{(epochs * 3 + 2) / 5, 3e-4}, {(epochs * 4 + 3) / 5, 1e-4}};
}

void train(const Options& options) {
  if (options.trainer == "simple" && options.devices > 1)
    throw belfry::tools::BadArgument("--devices",
                                     fmt::format("expected 1 for --trainer simple, got {}", options.devices));
  bf::Graph graph;
  graph.set_seed(options.seed);
  const bf::GraphScope scope(graph);
  const bf::Flow data = bf::fashion_mnist("train", {.seed = options.seed}) | bf::batch(options.batch);
  bf::TrainConfig config{
      .model = bf::model<FashionNet>(),
      .dataflow = data,
      .callbacks = {bf::ModelSaver(),
                    bf::InferenceRunner(bf::fashion_mnist("test") | bf::batch(250, bf::Remainder::keep),
                                        {bf::ScalarStats("cross_entropy"), bf::ClassificationError("incorrect")}),
                    bf::MinSaver("validation_error"),
                    bf::ScheduledHyperParamSetter("learning_rate", schedule(options.epochs))},
      // Each tower takes its own batches: an epoch of N towers is one pass too.
      .steps_per_epoch = std::max<std::int64_t>(1, data.known_size() / options.devices),
      .max_epoch = options.epochs};
  if (options.threads > 0)
    config.session_config.devices.assign(static_cast<std::size_t>(options.devices), {options.threads});
  belfry::tools::resume(config, options.resume);
  const auto trainer = make_trainer(options);
  bf::launch_train_with_config(std::move(config), *trainer);
  fmt::print("validation accuracy {:.4f}\n", 1.0 - *trainer->monitors().latest("validation_error"));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  belfry::tools::CommandLine command("Trains a convnet on Fashion-MNIST", "fashion_mnist");
  command.number("--epochs", options.epochs, {1, 1'000'000}, "passes over the training set");
  command.number("--batch", options.batch, {1, 1'000'000}, "images per step and device");
  command.one_of("--trainer", options.trainer, {"simple", "ps", "replicated", "async"},
                 "simple, ps, replicated or async");
  command.number("--devices", options.devices, {1, 1024}, "number of devices, for all trainers but simple");
  command.number("--threads", options.threads, {0, 1024}, "threads of each device (0: an equal share of the cores)");
  command.seed("--seed", options.seed, "of weights, order and dropout");
  command.resume(options.resume);
  return command.run(argc, argv, [&] { train(options); });
}
