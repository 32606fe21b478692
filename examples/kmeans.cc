// k-means with the raw interface: a plain Trainer, whose train_op moves the centres; no input and no gradient.
#include <belfry/belfry.h>
#include <fmt/core.h>

#include <cmath>

#include "tools/command_line.h"
#include "tools/resume_option.h"

namespace bf = belfry;

void cluster(int count, int k, int epochs, const std::string& resume) {
  bf::Array data(bf::f32, {count, 1, 2});  // around k places on a circle, one per centre
  bf::RandomStream random(1);
  for (int i = 0; i < 2 * count; ++i)
    data.set_item(i, 9 * std::sin(6.283 * (i / 2) / k + 1.571 * (i % 2)) + random.normal());

  bf::Trainer trainer;  // owns the graph that the following ops are added to
  const bf::Tensor points = bf::constant(data);
  const bf::Variable centres = bf::get_variable("centres", {.shape = {k, 2}, .trainable = false});
  const bf::Tensor distances = bf::reduce_sum(bf::square(points - centres), {.axes = {2}});          // [count, k]
  const bf::Tensor owner = bf::expand_dims(bf::one_hot(bf::argmax(-distances), k), 2);               // [count, k, 1]
  const bf::Tensor sizes = bf::reduce_sum(owner, {.axes = {0}});                                     // [k, 1]
  const bf::Tensor means = bf::reduce_sum(owner * points, {.axes = {0}}) / bf::maximum(sizes, 1.f);  // [k, 2]
  trainer.train_op = centres.assign(bf::where(sizes > 0.f, means, centres));  // a centre that owns nothing stays
  bf::add_summary({bf::reduce_mean(bf::reduce_min(distances, {.axes = {1}}), "cost")});
  bf::TrainOptions options{.callbacks = {bf::ModelSaver()}, .steps_per_epoch = 1, .max_epoch = epochs};
  belfry::tools::resume(options, resume);
  trainer.train_with_defaults(std::move(options));

  const auto& costs = trainer.monitors().history("cost");
  fmt::print("mean squared distance {:.4f}, at first {:.4f}\n", costs.back().value, costs.front().value);
}

int main(int argc, char** argv) {
  int count = 10'000, k = 8, epochs = 15;
  std::string resume = "never";
  belfry::tools::CommandLine command("Clusters points by k-means", "kmeans");
  command.number("--points", count, {1, 1'000'000});
  command.number("--k", k, {1, 1000}, "centres");
  command.number("--epochs", epochs, {1, 1'000'000}, "steps");
  command.resume(resume);
  return command.run(argc, argv, [&] { cluster(count, k, epochs, resume); });
}
