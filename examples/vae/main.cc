// Trains a variational autoencoder on Fashion-MNIST, whose batches differ in size, and draws what it makes.
#include <belfry/belfry.h>
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "examples/vae/pictures.h"
#include "examples/vae/vae.h"
#include "tools/command_line.h"
#include "tools/resume_option.h"

namespace bf = belfry;

namespace {

struct Options {
  int epochs = 6, batch = 128, images = 60'000, devices = 1, threads = 0;
  std::uint64_t seed = 1;
  std::string run_dir = "train_log/vae", resume = "never";
};

// The images without their labels, at most options.images per pass. The last batch may be smaller.
bf::Flow images_of(const char* split, const Options& options, int batch) {
  return bf::fashion_mnist(split, {.seed = options.seed}) | bf::take(options.images) | bf::select({0}) |
         bf::batch(batch, bf::Remainder::keep);
}

std::unique_ptr<bf::SingleCostTrainer> make_trainer(int devices) {
  if (devices == 1) return std::make_unique<bf::SimpleTrainer>();
  return std::make_unique<bf::SyncMultiDeviceTrainer>(bf::cpu_devices(devices));
}

void train(const Options& options) {
  bf::Graph graph;
  graph.set_seed(options.seed);
  const bf::GraphScope scope(graph);
  const bf::Flow data = images_of("train", options, options.batch);
  const bf::Array shown = (*images_of("test", options, 32).next())[0];
  bf::TrainConfig config{.model = bf::model<VAE>(),
                         .dataflow = data,
                         .callbacks = {bf::ModelSaver(),
                                       bf::InferenceRunner(images_of("test", options, 250),
                                                           {bf::ExampleStats({"elbo", "reconstruction", "kl"})}),
                                       bf::MaxSaver("validation_elbo"), Pictures(shown, options.seed)},
                         // Each tower takes its own batches: an epoch of N towers is one pass too.
                         .steps_per_epoch = std::max<std::int64_t>(1, data.known_size() / options.devices),
                         .max_epoch = options.epochs,
                         .run_dir = options.run_dir};
  if (options.threads > 0)
    config.session_config.devices.assign(static_cast<std::size_t>(options.devices), {options.threads});
  belfry::tools::resume(config, options.resume);
  const auto trainer = make_trainer(options.devices);
  bf::launch_train_with_config(std::move(config), *trainer);
  fmt::print("validation ELBO {:.2f} nats per image\n", *trainer->monitors().latest("validation_elbo"));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  belfry::tools::CommandLine command("Trains a variational autoencoder on Fashion-MNIST", "vae");
  command.number("--epochs", options.epochs, {1, 1'000'000}, "passes over the images");
  command.number("--batch", options.batch, {1, 1'000'000},
                 "images per step and device; the last batch of a pass may be smaller");
  command.number("--images", options.images, {1, 1'000'000},
                 "of the training set, and at most this many of the test set");
  command.number("--devices", options.devices, {1, 1'000'000}, "devices, each with a tower");
  command.number("--threads", options.threads, {0, 1'000'000},
                 "threads of each device (0: an equal share of the cores)");
  command.seed("--seed", options.seed, "of weights, order and noise");
  command.text("--run-dir", options.run_dir, "where checkpoints and images go");
  command.resume(options.resume);
  return command.run(argc, argv, [&] { train(options); });
}
