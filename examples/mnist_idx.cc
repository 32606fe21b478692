// Trains on MNIST's idx files until the validation error stops falling.
#include <belfry/belfry.h>
#include <fmt/core.h>

#include <algorithm>

#include "tools/command_line.h"
#include "tools/resume_option.h"

namespace bf = belfry;

namespace {

class LeNet final : public bf::ModelDesc {
 public:
  std::vector<bf::TensorSpec> inputs() const override {
    return {{"image", bf::f32, {bf::kAny, 28, 28, 1}}, {"label", bf::i32, {bf::kAny}}};
  }

  bf::Tensor build_graph(bf::Inputs in) override {
    const auto conv = bf::conv2d({.filters = 16, .kernel = 5, .activation = bf::relu});
    const bf::Tensor logits = in["image"] | conv("conv0") | bf::max_pool("pool0", 2) | conv("conv1") |
                              bf::max_pool("pool1", 2) |
                              bf::fully_connected("fc0", {.units = 64, .activation = bf::relu}) |
                              bf::dropout("drop", 0.5) | bf::fully_connected("fc1", {.units = 10});
    bf::prediction_incorrect(logits, in["label"], "incorrect");
    const bf::Tensor cost = bf::reduce_mean(bf::sparse_softmax_cross_entropy(logits, in["label"]), "cost");
    bf::add_moving_summary({cost});
    return cost;
  }

  std::unique_ptr<bf::Optimizer> optimizer() override {
    return bf::adam({.learning_rate = bf::hyper_param("learning_rate", 1e-3f)});
  }
};

// Ends training when a metric has not fallen for `patience` epochs.
class EarlyStop final : public bf::Callback {
 public:
  EarlyStop(std::string metric, int patience) : metric_(std::move(metric)), patience_(patience) {}

  void trigger() override {
    const auto& values = trainer().monitors().history(metric_);
    const auto best = std::ranges::min_element(values, {}, &bf::Monitors::Entry::value);
    if (values.end() - best > patience_)
      throw bf::StopTraining(fmt::format("'{}' has not fallen for {} epochs", metric_, patience_));
  }
  bool declares_metrics() const override { return true; }  // it puts none: a mistyped metric of a saver is an error

 private:
  std::string metric_;
  int patience_;
};

struct Options {
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string run_dir = "train_log/mnist_idx", resume = "never";
  int epochs = 20, patience = 3, batch = 128;
};

void train(const Options& options) {
  bf::TrainConfig config{
      .model = bf::model<LeNet>(),
      .dataflow = bf::mnist(options.data, "train") | bf::batch(options.batch),
      .callbacks = {bf::ModelSaver(),
                    bf::InferenceRunner(bf::mnist(options.data, "test") | bf::batch(250, bf::Remainder::keep),
                                        {bf::ScalarStats("cost"), bf::ClassificationError("incorrect")}),
                    bf::MinSaver("validation_error"), EarlyStop("validation_error", options.patience)},
      .max_epoch = options.epochs,
      .run_dir = options.run_dir};
  belfry::tools::resume(config, options.resume);
  bf::SimpleTrainer trainer;
  const std::string why = bf::launch_train_with_config(std::move(config), trainer);
  fmt::print("validation error {:.4f} ({})\n", *trainer.monitors().latest("validation_error"), why);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  belfry::tools::CommandLine command("Trains on MNIST's idx files until the validation error stops falling",
                                     "mnist_idx");
  command.text("--data", options.data, "the folder of the idx files, gzipped or not");
  command.text("--run-dir", options.run_dir, "where checkpoints and metrics go");
  command.number("--epochs", options.epochs, {1, 1'000'000}, "the last one");
  command.number("--patience", options.patience, {1, 1'000'000}, "epochs without a better validation error");
  command.number("--batch", options.batch, {1, 1'000'000}, "images per step");
  command.resume(options.resume);
  return command.run(argc, argv, [&] { train(options); });
}
