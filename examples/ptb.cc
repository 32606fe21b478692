// Trains a recurrent language model on the files of Penn Treebank.
#include <belfry/belfry.h>
#include <fmt/core.h>

#include <cmath>

#include "tools/command_line.h"
#include "tools/resume_option.h"

namespace bf = belfry;

namespace {

struct Options {
  std::string data, run_dir = "train_log/ptb", resume = "never";
  int epochs = 13, batch = 20, time = 20, units = 200, layers = 2, words = 10'000;
  double dropout = 0;
};

class LanguageModel final : public bf::ModelDesc {
 public:
  explicit LanguageModel(Options options) : options_(std::move(options)) {}

  std::vector<bf::TensorSpec> inputs() const override {
    const bf::Shape ids{options_.time, options_.batch};
    return {{"ids", bf::i32, ids}, {"next", bf::i32, ids}, {"begins", bf::boolean, {}}};
  }

  bf::Tensor build_graph(bf::Inputs in) override {
    const auto uniform = bf::init::uniform({.low = -0.1, .high = 0.1});
    const bf::Tensor words =
        in["ids"] | bf::embedding("words", {.rows = options_.words, .width = options_.units, .initializer = uniform});
    const bf::RnnResult rnn = carried(network(uniform), words, in["begins"]);
    const bf::Tensor logits = bf::reshape(rnn.output, {bf::kAny, options_.units}) |
                              bf::fully_connected("head", {.units = options_.words, .kernel_initializer = uniform});
    const bf::Tensor loss =
        bf::reduce_mean(bf::sparse_softmax_cross_entropy(logits, bf::reshape(in["next"], {bf::kAny})), "loss");
    bf::add_moving_summary({bf::exp(loss, "perplexity")});
    return bf::multiply(loss, static_cast<float>(options_.time), "cost");
  }

  std::unique_ptr<bf::Optimizer> optimizer() override {
    return bf::apply_grad_processors(bf::sgd({.learning_rate = bf::hyper_param("learning_rate", 1.f)}),
                                     {bf::global_norm_clip(5)});
  }

 private:
  bf::RnnCell network(const bf::Initializer& uniform) const {
    std::vector<bf::RnnCell> layers;
    for (int k = 0; k < options_.layers; ++k) {
      const bf::RnnCell lstm =
          bf::cell::lstm("layer" + std::to_string(k),
                         {.units = options_.units, .kernel_initializer = uniform, .recurrent_initializer = uniform});
      layers.push_back(bf::cell::dropout(lstm, {.output = options_.dropout}));
    }
    return bf::cell::stacked("rnn", layers);
  }

  // Begins with the state at the end of the tower's last step, in validation too, or with zeros where the text
  // restarts.
  static bf::RnnResult carried(const bf::RnnCell& cell, const bf::Tensor& x, const bf::Tensor& begins) {
    std::vector<bf::Variable> state;
    bf::Tensors before;
    for (const std::int64_t size : cell.state_sizes()) {
      state.push_back(bf::new_variable("state", {.shape = {x.shape()[1], size}, .initializer = bf::init::zeros()}));
      before.push_back(bf::select(begins, bf::zeros_like(state.back()), state.back()));
    }
    bf::RnnResult out = bf::rnn(cell, x, {.initial = before});
    bf::Tensors kept;
    for (std::size_t k = 0; k < state.size(); ++k) kept.push_back(state[k].assign(out.last[k]));
    const bf::ControlDependencies after(kept);
    out.output = bf::identity(out.output);
    return out;
  }

  Options options_;
};

void train(const Options& options) {
  const bf::Vocabulary words = bf::Vocabulary::from_files({options.data + "/ptb.train.txt"},
                                                          {.max_size = options.words, .end_of_line = "<eos>"});
  Options fitted = options;
  fitted.words = static_cast<int>(words.size());
  const auto streams = [&](const std::string& part) {
    return bf::text_streams(
        options.data + "/ptb." + part + ".txt",
        {.vocabulary = words, .streams = {.streams = options.batch, .sequence_length = options.time, .begins = true}});
  };
  bf::TrainConfig config{
      .model = bf::model<LanguageModel>(fitted),
      .dataflow = streams("train"),
      .callbacks = {bf::ModelSaver(), bf::InferenceRunner(streams("valid"), {bf::ScalarStats("loss")}),
                    bf::MinSaver("validation_loss"),
                    bf::ScheduledHyperParamSetter("learning_rate", {{4, 0.5}, {5, 0.25}, {6, 0.125}, {7, 0.0625}})},
      .max_epoch = options.epochs,
      .run_dir = options.run_dir};
  belfry::tools::resume(config, options.resume);
  bf::SimpleTrainer trainer;
  bf::launch_train_with_config(std::move(config), trainer);
  fmt::print("validation perplexity {:.2f}\n", std::exp(*trainer.monitors().latest("validation_loss")));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  belfry::tools::CommandLine command("Trains a recurrent language model on the files of Penn Treebank", "ptb");
  command.required("data", options.data, "the folder of ptb.train.txt and ptb.valid.txt");
  command.text("--run-dir", options.run_dir, "where checkpoints and metrics go");
  command.number("--epochs", options.epochs, {1, 1'000'000});
  command.number("--batch", options.batch, {1, 100'000}, "streams side by side");
  command.number("--time", options.time, {1, 100'000}, "words of each stream per step");
  command.number("--units", options.units, {1, 100'000});
  command.number("--layers", options.layers, {1, 100});
  command.number("--dropout", options.dropout, {0., 0.99}, "rate for the output of each layer");
  command.resume(options.resume);
  return command.run(argc, argv, [&] { train(options); });
}
