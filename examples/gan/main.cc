// Trains a DCGAN on Fashion-MNIST, with a choice of three custom trainers, and draws what it generates.
#include <belfry/belfry.h>
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "examples/gan/dcgan.h"
#include "examples/gan/gan_trainers.h"
#include "examples/gan/sample_sheet.h"
#include "tools/command_line.h"
#include "tools/resume_option.h"

namespace bf = belfry;

namespace {

struct Options {
  int epochs = 5, steps = 0, batch = 64, devices = 1, threads = 0;
  SeparateGANTrainer::Periods periods;
  std::uint64_t seed = 1;
  std::string trainer = "joint", run_dir = "train_log/gan", resume = "never";
};

std::unique_ptr<bf::TowerTrainer> make_trainer(const Options& options, const bf::InputSourcePtr& input, DCGAN& model) {
  if (options.trainer == "separate") return std::make_unique<SeparateGANTrainer>(input, model, options.periods);
  if (options.trainer == "multi")
    return std::make_unique<MultiDeviceGANTrainer>(input, model, bf::cpu_devices(options.devices));
  return std::make_unique<GANTrainer>(input, model);
}

void check(const Options& options) {
  const auto only = [&](const char* option, const char* trainer, bool given) {
    if (given && options.trainer != trainer)
      throw belfry::tools::BadArgument(option, fmt::format("expected --trainer {}, got {}", trainer, options.trainer));
  };
  only("--devices", "multi", options.devices > 1);
  only("--d-period", "separate", options.periods.d > 1);
  only("--g-period", "separate", options.periods.g > 1);
}

void train(const Options& options) {
  check(options);
  bf::Graph graph;
  graph.set_seed(options.seed);
  const bf::GraphScope scope(graph);
  const bf::Flow data = bf::fashion_mnist("train", {.seed = options.seed}) | bf::select({0}) | bf::batch(options.batch);
  DCGAN model;
  const auto trainer = make_trainer(options, bf::QueueInput(data), model);
  const std::size_t towers = trainer->devices().size();
  // Each tower takes its own batches: an epoch of N towers is one pass too.
  const std::int64_t pass = std::max<std::int64_t>(1, data.known_size() / static_cast<std::int64_t>(towers));
  bf::SessionConfig session;
  if (options.threads > 0) session.devices.assign(towers, {options.threads});
  const bf::StopOnSignal signals(*trainer);
  bf::TrainOptions training{.callbacks = {bf::ModelSaver(), SampleSheet(options.seed)},
                            .session_config = session,
                            .steps_per_epoch = options.steps > 0 ? options.steps : pass,
                            .max_epoch = options.epochs,
                            .run_dir = options.run_dir};
  belfry::tools::resume(training, options.resume);
  trainer->train_with_defaults(std::move(training));
  signals.throw_if_interrupted();
  fmt::print("discriminator loss {:.4f}, generator loss {:.4f}\n", *trainer->monitors().latest("d_loss"),
             *trainer->monitors().latest("g_loss"));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  belfry::tools::CommandLine command("Trains a DCGAN on Fashion-MNIST", "gan");
  command.one_of("--trainer", options.trainer, {"joint", "separate", "multi"},
                 "joint (both players in one run), separate (a run each) or multi");
  command.number("--devices", options.devices, {1, 1'000'000}, "multi: the number of devices");
  command.number("--d-period", options.periods.d, {1, 1'000'000},
                 "separate: steps from one turn of the discriminator to the next");
  command.number("--g-period", options.periods.g, {1, 1'000'000},
                 "separate: steps from one turn of the generator to the next");
  command.number("--epochs", options.epochs, {1, 1'000'000}, "epochs");
  command.number("--steps", options.steps, {0, 1'000'000}, "steps per epoch (0: one pass over the training set)");
  command.number("--batch", options.batch, {2, 1'000'000}, "images per step and device");
  command.number("--threads", options.threads, {0, 1'000'000},
                 "threads of each device (0: an equal share of the cores)");
  command.seed("--seed", options.seed, "of weights, order and noise");
  command.text("--run-dir", options.run_dir, "where checkpoints and images go");
  command.resume(options.resume);
  return command.run(argc, argv, [&] { train(options); });
}
