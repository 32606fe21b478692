// A program as users write them: it sees the installed headers and the installed library, nothing of the source tree.
#include <belfry/belfry.h>

#include <cstdio>

namespace bf = belfry;

// Two steps of a SimpleTrainer: y = w x, trained towards y = 2 x. True if w has moved that way.
bool trains() {
  std::vector<bf::DataPoint> points;
  for (float x : {1.f, 2.f}) points.push_back({bf::Array(x), bf::Array(2 * x)});
  bf::SimpleTrainer trainer;
  trainer.setup_graph(
      {{"x", bf::f32, {bf::kAny}}, {"y", bf::f32, {bf::kAny}}}, bf::QueueInput(bf::from_list(points) | bf::batch(2)),
      [](bf::Inputs in) {
        const bf::Variable w = bf::get_variable("w", {.initializer = bf::init::zeros()});
        return bf::reduce_mean(bf::square(in["x"] * w - in["y"]));
      },
      [] { return bf::sgd({.learning_rate = 0.1f}); });
  trainer.train({.steps_per_epoch = 2, .max_epoch = 1});
  const double w = trainer.session().value(trainer.towers().training()[0].get_variable("w")).item();
  std::printf("w = %.3f after %lld steps\n", w, static_cast<long long>(trainer.global_step()));
  return w > 1 && w < 2.5 && trainer.global_step() == 2;
}

int main() {
  const bf::Array a = bf::Array::of<float>({2, 2}, {1, 2, 3, 4});
  double sum = 0;
  for (float value : a.values<float>()) sum += value;
  if (sum != 10) return 1;
  try {
    a.values<double>();
    return 2;
  } catch (const bf::Error& error) {  // an exception's type is the same on both sides of the library's border
    std::printf("%s\n", error.what());
  }
  return trains() ? 0 : 3;
}
