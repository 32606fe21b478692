// Linear regression with the raw interface: a plain Trainer, with train_op and input set up by hand.
#include <belfry/belfry.h>
#include <fmt/core.h>

#include "tools/command_line.h"
#include "tools/resume_option.h"

namespace bf = belfry;

void fit(int epochs, float rate, const std::string& resume) {
  std::vector<bf::DataPoint> line;  // y = 3 x - 1, and noise
  bf::RandomStream random(1);
  for (int i = 0; i < 1000; ++i) {
    const double x = 2 * random.uniform() - 1, y = 3 * x - 1 + 0.1 * random.normal();
    line.push_back({bf::Array(static_cast<float>(x)), bf::Array(static_cast<float>(y))});
  }

  bf::Trainer trainer;  // owns the graph that the following ops are added to
  const bf::InputSourcePtr input = bf::FeedInput(bf::from_list(std::move(line)) | bf::shuffle(1) | bf::batch(20));
  trainer.register_callbacks(input->setup({{"x", bf::f32, {bf::kAny}}, {"y", bf::f32, {bf::kAny}}}));
  const bf::Tensors in = input->get_input_tensors();
  const bf::Variable w = bf::get_variable("w", {}), b = bf::get_variable("b", {});
  const bf::Tensor cost = bf::reduce_mean(bf::square(in[0] * w + b - in[1]), "cost");
  bf::add_moving_summary({cost});
  trainer.train_op = bf::sgd({.learning_rate = rate})->minimize(cost);
  bf::TrainOptions options{.callbacks = {bf::ModelSaver()}, .steps_per_epoch = input->size(), .max_epoch = epochs};
  belfry::tools::resume(options, resume);
  trainer.train_with_defaults(std::move(options));
  fmt::print("y = {:.2f} x {:+.2f}\n", trainer.session().value(w).item(), trainer.session().value(b).item());
}

int main(int argc, char** argv) {
  int epochs = 5;
  float rate = 0.1f;
  std::string resume = "never";
  belfry::tools::CommandLine command("Fits a line to noisy points", "raw_regression");
  command.number("--epochs", epochs, {1, 1'000'000});
  command.number("--rate", rate, {}, "learning rate");
  command.resume(resume);
  return command.run(argc, argv, [&] { fit(epochs, rate, resume); });
}
