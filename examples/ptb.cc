// Trains an LSTM language model on the files of Penn Treebank, with a reading pipeline made of graph ops.
#include <belfry/base/file.h>
#include <belfry/belfry.h>
#include <fmt/core.h>

#include <cmath>

#include "tools/command_line.h"

namespace bf = belfry;

namespace {

struct Options {
  std::string data, run_dir = "train_log/ptb";
  int epochs = 13, batch = 20, time = 20, units = 200, words = 10'000;
};

// A text as `batch` streams side by side: ids [length, batch].
bf::Array read_streams(const std::string& path, const bf::Vocabulary& words, const Options& options) {
  const std::vector<std::int32_t> ids = words.encode(bf::read_file(path));
  const std::int64_t batch = options.batch, needed = batch * (options.time + 1);
  if (static_cast<std::int64_t>(ids.size()) < needed)
    throw bf::Error(fmt::format("[ptb] expected {} words or more in '{}', for {} streams of {} a step, got {}.", needed,
                                path, batch, options.time, ids.size()));
  const auto length = static_cast<std::int64_t>(ids.size()) / batch;
  bf::Array out(bf::i32, {length, batch});
  for (std::int64_t t = 0; t < length; ++t)
    for (std::int64_t b = 0; b < batch; ++b)
      out.values<std::int32_t>()[t * batch + b] = ids[static_cast<std::size_t>(b * length + t)];
  return out;
}

// The next `time` ids of each stream, and the ones that follow them; a variable says where the streams stand.
bf::InputSourcePtr reading(const bf::Array& streams, int time) {
  const std::int64_t steps = (streams.shape()[0] - 1) / time;
  return bf::TensorInput(
      [=] {
        const bf::Tensor text = bf::constant(streams);
        const bf::Variable step = bf::new_variable("step", {.dtype = bf::i32, .initializer = bf::init::zeros()});
        const bf::Tensor now = bf::floormod(step, static_cast<std::int32_t>(steps));
        const bf::Tensor rows = now * time + bf::range({.limit = static_cast<double>(time)});
        const bf::ControlDependencies count({step.assign_add(1)});
        return bf::Tensors{bf::gather(text, rows), bf::gather(text, rows + 1)};
      },
      steps);
}

class LanguageModel final : public bf::ModelDesc {
 public:
  explicit LanguageModel(Options options) : options_(std::move(options)) {}

  std::vector<bf::TensorSpec> inputs() const override {
    const bf::Shape ids{options_.time, options_.batch};
    return {{"ids", bf::i32, ids}, {"next", bf::i32, ids}};
  }

  bf::Tensor build_graph(bf::Inputs in) override {
    const auto uniform = bf::init::uniform({.low = -0.1, .high = 0.1});
    const bf::VariableOptions state{
        .shape = {options_.batch, options_.units}, .initializer = bf::init::zeros(), .trainable = false};
    const bf::Variable h = bf::get_variable("h", state), c = bf::get_variable("c", state);
    const bf::LstmLayerResult rnn = bf::lstm_with_state(
        in["ids"] | bf::embedding("words", {.rows = options_.words, .width = options_.units, .initializer = uniform}),
        "rnn", {.units = options_.units, .kernel_initializer = uniform, .recurrent_initializer = uniform}, {{h, c}});
    const bf::ControlDependencies carried({h.assign(rnn.last[0].h), c.assign(rnn.last[0].c)});  // in validation too
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
  Options options_;
};

// The streams of words begin anew: the state is that of the start.
bf::RunOp restart() {
  return bf::RunOp([] {
    bf::Tensors zeroed;
    for (const char* name : {"h", "c"}) {
      const bf::Variable state = bf::current_graph().get_variable_by_name(name);
      zeroed.push_back(state.assign(bf::zeros_like(state)));
    }
    return bf::group(zeroed);
  });
}

void train(const Options& options) {
  const bf::Vocabulary words = bf::Vocabulary::from_files({options.data + "/ptb.train.txt"},
                                                          {.max_size = options.words, .end_of_line = "<eos>"});
  Options fitted = options;
  fitted.words = static_cast<int>(words.size());
  const auto input = [&](const std::string& part) {
    return reading(read_streams(options.data + "/ptb." + part + ".txt", words, options), options.time);
  };
  bf::TrainConfig config{
      .model = bf::model<LanguageModel>(fitted),
      .input = input("train"),
      .callbacks = {bf::ModelSaver(), restart(), bf::InferenceRunner(input("valid"), {bf::ScalarStats("loss")}),
                    restart(), bf::MinSaver("validation_loss"),
                    bf::ScheduledHyperParamSetter("learning_rate", {{4, 0.5}, {5, 0.25}, {6, 0.125}, {7, 0.0625}})},
      .max_epoch = options.epochs,
      .run_dir = options.run_dir};
  bf::SimpleTrainer trainer;
  bf::launch_train_with_config(std::move(config), trainer);
  fmt::print("validation perplexity {:.2f}\n", std::exp(*trainer.monitors().latest("validation_loss")));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains an LSTM language model on the files of Penn Treebank", "ptb");
  app.add_option("data", options.data, "the folder of ptb.train.txt and ptb.valid.txt")->required();
  app.add_option("--run-dir", options.run_dir, "where checkpoints and metrics go")->capture_default_str();
  app.add_option("--epochs", options.epochs)->capture_default_str()->check(CLI::Range(1, 1'000'000));
  app.add_option("--batch", options.batch, "streams side by side")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  app.add_option("--time", options.time, "words of each a step")->capture_default_str()->check(CLI::Range(1, 100'000));
  app.add_option("--units", options.units)->capture_default_str()->check(CLI::Range(1, 100'000));
  return belfry::tools::main_of(app, argc, argv, [&] { train(options); });
}
