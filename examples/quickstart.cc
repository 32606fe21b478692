// The page of user code in the README: define a graph, run it, save it.
#include <belfry/belfry.h>

#include <cstdio>

namespace bf = belfry;

int main() {
  bf::Graph graph;
  const bf::GraphScope scope(graph);

  // Define: nothing executes here. One function builds one replica; towers call it for training and for inference.
  const auto logits_of = [](const bf::Tensor& image) {
    const auto conv = bf::conv2d({.filters = 16, .kernel = 3, .activation = bf::relu});
    return (image * 2.f - 1.f) | conv("conv0") | bf::max_pool("pool0", 2) | conv("conv1") | bf::max_pool("pool1", 2) |
           bf::dropout("drop", 0.25) | bf::fully_connected("fc", {.units = 10});
  };
  const bf::Tensor image = bf::placeholder({"image", bf::f32, {bf::kAny, 28, 28, 1}});
  const bf::Tensor label = bf::placeholder({"label", bf::i32, {bf::kAny}});
  bf::Tensor loss, wrong;
  bf::Operation train;
  {
    const bf::TrainTowerContext tower("");
    loss = bf::reduce_mean(bf::sparse_softmax_cross_entropy(logits_of(image), label), "cross_entropy");
    const bf::Tensor cost = loss + bf::regularize_cost("fc/W", bf::l2(1e-5f));
    train = bf::adam({.learning_rate = bf::hyper_param("learning_rate", 1e-3f)})->minimize(cost);
  }
  {
    const bf::PredictTowerContext tower("test");
    wrong = bf::reduce_mean(bf::prediction_incorrect(logits_of(image), label), "error");
  }

  // Run: each set of fetches is compiled once for the shapes it is fed, then only executed.
  bf::Session session(graph);
  session.initialize();
  bf::Flow data = bf::fashion_mnist("train") | bf::batch(128) | bf::prefetch(8);
  const auto step = session.make_callable({loss, train}, {image, label});
  double sum = 0;
  for (bf::DataPoint& point : data) sum += step(point)[0].item();
  bf::Flow test = bf::fashion_mnist("test") | bf::batch(10000);
  const auto point = test->next();
  const double error = session.run(wrong, {{image, (*point)[0]}, {label, (*point)[1]}}).item();
  std::printf("one epoch: mean loss %.3f, test error %.3f\n", sum / static_cast<double>(data.known_size()), error);

  bf::Saver(session, {.directory = "train_log/quickstart"}).save(data.known_size());
}
