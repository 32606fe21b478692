#include "benchmarks/async_gan_trainer.h"

namespace belfry::bench {

AsyncGanTrainer::AsyncGanTrainer(const GanModel& model, Devices devices, InputSourcePtr input)
    : TowerTrainer(std::move(devices)) {
  const GraphScope scope(graph());
  register_callbacks(input->setup(model.signature));
  set_tower_func(model.d_tower, model.signature);
  const auto optimizer = model.optimizer();
  const auto count = static_cast<int>(this->devices().size());
  for (int t = 0; t < count; ++t) {
    const TrainTowerContext tower(tower_name(static_cast<std::size_t>(t)),
                                  {.index = t, .total = count, .own_runs = true});
    const Operation step = build_step(model, *optimizer, input->get_input_tensors());
    if (t == 0)
      train_op = step;
    else
      async_.add(step, this->devices()[static_cast<std::size_t>(t)]);
  }
  register_callback(async_.callback());
}

Operation AsyncGanTrainer::build_step(const GanModel& model, Optimizer& optimizer, const Tensors& inputs) {
  const Tensors made = tower_func()(inputs);
  const TowerTensorHandle& tower = towers().all().back();
  const auto minimize = [&](const Tensor& cost, const std::string& scope, const std::string& name) {
    GradientsAndVariables gradients = optimizer.compute_gradients(cost, GanModel::under(scope, tower));
    for (GradientAndVariable& item : gradients)
      item.gradient = item.gradient * (1.0 / static_cast<double>(devices().size()));
    return optimizer.apply_gradients(gradients, name);
  };
  const Operation d_min = minimize(made[1], model.d_scope, "d_min");
  const Tensor g_cost = model.g_cost(made[0], d_min);
  report(made[1], g_cost);
  const Operation g_min = minimize(g_cost, model.g_scope, "g_min");
  return async_.step(group({d_min, g_min}), "step_" + tower.name());
}

void AsyncGanTrainer::run_step() {
  async_.check();
  TowerTrainer::run_step();
}

}  // namespace belfry::bench
