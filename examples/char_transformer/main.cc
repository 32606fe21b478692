// Trains a small GPT on the characters of a text, and shows what it would write.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "examples/char_transformer/char_model.h"
#include "examples/char_transformer/show_sample.h"
#include "examples/char_transformer/text.h"
#include "examples/char_transformer/text_sampler.h"
#include "tools/command_line.h"
#include "tools/resume_option.h"

namespace bf = belfry;

namespace {

struct Options {
  std::string text = "/usr/share/common-licenses";  // of base-files, which every Debian has
  std::string run_dir = SamplerOptions{}.run_dir, resume = "never";
  NetworkSizes sizes;
  int epochs = 6, steps = 250, batch = 16, threads = 0;
  double held_out = 0.1, dropout = 0, learning_rate = 4e-3;
  std::uint64_t seed = 1;
};

// Writes the vocabulary beside the checkpoints, which are useless without it.
class SaveVocabulary final : public bf::Callback {
 public:
  explicit SaveVocabulary(bf::Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  void before_train() override {
    trainer().before_first_step([this] { vocabulary_.save(vocabulary_file(trainer().run_dir())); });
  }
  std::vector<bf::Written> writes() const override { return {{trainer().run_dir(), {"vocabulary.txt"}}}; }
  bool declares_metrics() const override { return true; }

 private:
  bf::Vocabulary vocabulary_;
};

// Up from almost nothing over the first twentieth of all steps, then down to a tenth.
bf::ScheduledHyperParamSetter learning_rate(const Options& options) {
  const std::int64_t steps = std::int64_t{options.epochs} * options.steps,
                     warm_up = std::max<std::int64_t>(1, steps / 20);
  const double rate = options.learning_rate;
  return {"learning_rate",
          {{0, rate / static_cast<double>(warm_up)}, {warm_up, rate}, {std::max(steps, warm_up + 1), rate / 10}},
          {.linear = true, .step_based = true}};
}

// A run that goes on must have been trained on this text.
void check_text(const bf::TrainConfig& config, const bf::Vocabulary& vocabulary) {
  const std::string file = vocabulary_file(config.run_dir);
  if (std::filesystem::exists(file) && !(bf::Vocabulary::load(file) == vocabulary))
    throw bf::Error(
        fmt::format("[char_transformer] expected the text that '{}' was trained on, got one whose "
                    "characters are not those of '{}'.",
                    config.run_dir, file));
}

void train(Options options) {
  if (options.sizes.features % NetworkSizes::kHeadFeatures != 0)
    throw belfry::tools::BadArgument("--features", fmt::format("expected a multiple of {}, got {}",
                                                               NetworkSizes::kHeadFeatures, options.sizes.features));
  const Text text = read_text(options.text, options.held_out);
  options.sizes.characters = text.vocabulary.size();
  const std::int64_t window = options.sizes.window;
  const bf::Flow training = windows(text.training, window, 1), held_out = windows(text.held_out, window, window);
  const Ids prompt(text.held_out.begin(), text.held_out.begin() + std::max<std::int64_t>(1, window / 8));

  bf::Graph graph;
  graph.set_seed(options.seed);
  const bf::GraphScope scope(graph);
  bf::TrainConfig config{
      .model = bf::model<CharModel>(Network(options.sizes, options.dropout), static_cast<std::int64_t>(prompt.size())),
      // Each window of the text once, in an order that depends on the seed: a position in it is saved and restored.
      .dataflow = training | bf::shuffle(options.seed) | bf::batch(options.batch, bf::Remainder::keep),
      .callbacks = {bf::ModelSaver({.keep = 2}), SaveVocabulary(text.vocabulary),
                    bf::InferenceRunner(held_out | bf::batch(options.batch, bf::Remainder::keep),
                                        {bf::ScalarStats("loss")}),
                    bf::MinSaver("validation_loss"), ShowSample(text.vocabulary, prompt), learning_rate(options)},
      .steps_per_epoch = options.steps,
      .max_epoch = options.epochs,
      .run_dir = options.run_dir};
  if (options.threads > 0) config.session_config.devices = {{options.threads}};
  belfry::tools::resume(config, options.resume);
  if (options.resume != "never") check_text(config, text.vocabulary);
  bf::SimpleTrainer trainer;
  bf::launch_train_with_config(std::move(config), trainer);

  const double loss = *trainer.monitors().latest("validation_loss");
  fmt::print("validation loss {:.4f}, {:.2f} bits per character; a sample:\n", loss, loss / std::log(2.0));
  TextSampler({.run_dir = options.run_dir, .sample = {.temperature = 0.8f}, .seed = options.seed})
      .stream(text.vocabulary.decode(prompt), 600, [](std::string_view c) { fmt::print("{}", c); });
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  belfry::tools::CommandLine command("Trains a small GPT on the characters of a text", "char_transformer");
  command.text("text", options.text, "a UTF-8 file, or a folder of them");
  command.text("--run-dir", options.run_dir, "where checkpoints and the vocabulary go");
  command.number("--epochs", options.epochs, {1, 1e6}, "the last one");
  command.number("--steps", options.steps, {1, 1e9}, "steps per epoch");
  command.number("--batch", options.batch, {1, 1e6}, "windows per step");
  command.number("--window", options.sizes.window, {2, 1e6}, "characters that the model looks at");
  command.number("--features", options.sizes.features, {32, 1e6},
                 "of each character; a multiple of 32, the size of a head");
  command.number("--blocks", options.sizes.blocks, {1, 1000}, "each with attention and two dense layers");
  command.number("--dropout", options.dropout, {0, 0.99}, "in each block");
  command.number("--learning-rate", options.learning_rate, {0, 1}, "its maximum: it rises first, then falls");
  command.number("--held-out", options.held_out, {0.001, 0.9},
                 "the share of the text, at its end, used for validation");
  command.number("--threads", options.threads, {0, 1024}, "0: all cores");
  command.seed("--seed", options.seed, "of weights, windows and samples");
  command.resume(options.resume);
  return command.run(argc, argv, [&] { train(options); });
}
