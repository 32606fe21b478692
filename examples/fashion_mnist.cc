// Trains a convnet on Fashion-MNIST through the session itself: define the graph, then run it.
#include <belfry/belfry.h>
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>

#include "tools/command_line.h"

namespace bf = belfry;

namespace {

struct Options {
  int epochs = 5, batch = 128, threads = 0;
  std::uint64_t seed = 1;
};

struct Model {
  bf::Tensor image, label;  // fed
  bf::Tensor loss;          // of a training batch
  bf::Operation train;
  bf::Variable learning_rate;
  bf::Tensor test_image, test_label, wrong;  // of a test batch: 1 for each image that is classified wrongly
};

// One replica of the network; called once for training and once, on the same variables, for inference.
bf::Tensor logits_of(const bf::Tensor& image) {
  const auto conv = bf::conv2d({.filters = 32, .kernel = 3, .activation = bf::relu});
  return (image * 2.f - 1.f) | conv("conv0") | bf::max_pool("pool0", 2) | conv("conv1") | conv("conv2") |
         bf::max_pool("pool1", 2) | conv("conv3") | bf::fully_connected("fc0", {.units = 512, .activation = bf::relu}) |
         bf::dropout("drop", 0.5) | bf::fully_connected("fc1", {.units = 10});
}

Model define() {
  Model m;
  const bf::TensorSpec image{"image", bf::f32, {bf::kAny, 28, 28, 1}}, label{"label", bf::i32, {bf::kAny}};
  {
    const bf::TrainTowerContext tower("");
    m.image = bf::placeholder(image);
    m.label = bf::placeholder(label);
    m.loss = bf::reduce_mean(bf::sparse_softmax_cross_entropy(logits_of(m.image), m.label), "cross_entropy");
    m.learning_rate = bf::hyper_param("learning_rate", 1e-3f);
    m.train = bf::adam({.learning_rate = m.learning_rate})->minimize(m.loss);
  }
  const bf::PredictTowerContext tower("test");
  m.test_image = bf::placeholder(image);
  m.test_label = bf::placeholder(label);
  m.wrong = bf::prediction_incorrect(logits_of(m.test_image), m.test_label);
  return m;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void show_progress(int epoch, std::int64_t step, std::int64_t steps, double loss, double seconds) {
  if (isatty(STDOUT_FILENO) == 0) return;  // a log keeps the epochs' lines only
  const int filled = static_cast<int>(30 * step / steps);
  fmt::print("\repoch {:2} [{:=>{}}{:{}}] {:3}/{} loss {:.4f}  {:.1f} steps/s ", epoch, "", filled, "", 30 - filled,
             step, steps, loss, static_cast<double>(step) / seconds);
  std::fflush(stdout);
}

double accuracy(bf::Session& session, const Model& m, bf::Flow& test) {
  double wrong = 0;
  std::int64_t count = 0;
  for (bf::DataPoint& point : test) {
    const bf::Array flags = session.run(m.wrong, {{m.test_image, point[0]}, {m.test_label, point[1]}});
    for (float flag : flags.values<float>()) wrong += flag;
    count += flags.elements();
  }
  return 1.0 - wrong / static_cast<double>(count);
}

void train(const Options& options) {
  bf::Graph graph;
  graph.set_seed(options.seed);
  const bf::GraphScope scope(graph);
  const Model m = define();
  fmt::print("{}\n{}\n", bf::describe_layers(graph), bf::describe_trainable_vars(graph));
  bf::Session session(graph, {.devices = {{options.threads}}});
  session.initialize();
  graph.finalize();

  bf::Flow train_data = bf::fashion_mnist("train", {.seed = options.seed}) | bf::batch(options.batch) | bf::prefetch(8);
  bf::Flow test_data = bf::fashion_mnist("test") | bf::batch(250, bf::Remainder::keep) | bf::prefetch(4);
  const std::int64_t steps = train_data.known_size();
  const auto step = session.make_callable({m.loss, m.train}, {m.image, m.label});
  double best = 0, last = 0, training = 0;
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    // The rate falls tenfold over the last two fifths.
    const double progress = static_cast<double>(epoch - 1) / options.epochs;
    const double rate = progress < 0.6 ? 1e-3 : progress < 0.8 ? 3e-4 : 1e-4;
    session.set_value(m.learning_rate, static_cast<float>(rate));
    train_data->start_epoch(static_cast<std::uint64_t>(epoch));
    double sum = 0;
    std::int64_t done = 0;
    const double begin = now();
    for (bf::DataPoint& point : train_data) {
      sum += step(point)[0].item();
      if (++done % 20 == 0 || done == steps)
        show_progress(epoch, done, steps, sum / static_cast<double>(done), now() - begin);
    }
    const double seconds = now() - begin;
    training += seconds;
    last = accuracy(session, m, test_data);
    best = std::max(best, last);
    fmt::print("{}epoch {:2}  loss {:.4f}  validation accuracy {:.4f}  {:.1f} s\n",
               isatty(STDOUT_FILENO) != 0 ? "\r\033[K" : "", epoch, sum / static_cast<double>(done), last, seconds);
    std::fflush(stdout);
  }
  fmt::print("trained for {:.1f} s, best epoch {:.4f}\nvalidation accuracy {:.4f}\n", training, best, last);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a convnet on Fashion-MNIST", "fashion_mnist");
  app.add_option("--epochs", options.epochs, "passes over the training set")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--batch", options.batch, "images a step")->capture_default_str()->check(CLI::Range(1, 1'000'000));
  app.add_option("--threads", options.threads, "threads (0: all cores)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
  app.add_option("--seed", options.seed, "of weights, order and dropout")->capture_default_str();
  return belfry::tools::main_of(app, argc, argv, [&] { train(options); });
}
