#include "benchmarks/gan_trainer.h"

#include "belfry/train/broadcast_variables.h"
#include "belfry/train/tower_gradients.h"

namespace belfry::bench {

std::vector<Variable> GanModel::under(const std::string& scope, const TowerTensorHandle& tower) {
  std::vector<Variable> out = tower.trainable_variables();
  std::erase_if(out, [&](const Variable& v) { return !tower.local_name(v).starts_with(scope); });
  return out;
}

void report(const Tensor& d_cost, const Tensor& g_cost) {
  concat({expand_dims(d_cost, 0), expand_dims(g_cost, 0)}, 0, "loss");
}

GanTrainer::GanTrainer(const GanModel& model, Devices devices, bool own_variables, InputSourcePtr input)
    : TowerTrainer(std::move(devices)), own_variables_(own_variables), optimizer_(model.optimizer()) {
  const GraphScope scope(graph());
  const TowerSettings settings{.devices = this->devices(), .own_variables = own_variables};
  register_callbacks(input->setup(model.signature));
  set_tower_func(model.d_tower, model.signature);

  std::vector<GradientsAndVariables> d, g;  // by tower
  build_towers(settings, [&](const TowerContext&) {
    const Tensors made = tower_func()(input->get_input_tensors());
    d.push_back(optimizer_->compute_gradients(made[1], GanModel::under(model.d_scope, towers().all().back())));
  });
  const std::vector<Operation> d_min = apply(d, "d_min");
  for (std::size_t t = 0; t < settings.devices.size(); ++t) {  // each tower once more, for what comes after the update
    const TowerTensorHandle handle = towers().training()[t];
    const DeviceScope device(settings.devices[t]);
    const TrainTowerContext tower(tower_name(t), {.index = static_cast<int>(t),
                                                  .total = static_cast<int>(settings.devices.size()),
                                                  .variable_scope = tower_variable_scope(settings, t),
                                                  .reuse = Reuse::yes});
    const Tensor cost = model.g_cost(handle.outputs()[0], d_min[own_variables ? t : 0]);
    report(handle.outputs()[1], cost);
    g.push_back(optimizer_->compute_gradients(cost, GanModel::under(model.g_scope, handle)));
  }
  std::vector<Operation> all = apply(g, "g_min");
  all.insert(all.end(), d_min.begin(), d_min.end());
  train_op = group(all, "train_op");
  const auto broadcast = [this] { return broadcast_variables(towers().training(), this->devices()); };
  if (own_variables) register_callback(RunOp(broadcast, {.as_trigger = false}));
}

std::vector<Operation> GanTrainer::apply(const std::vector<GradientsAndVariables>& gradients, const std::string& name) {
  if (!own_variables_) return {optimizer_->apply_gradients(average_gradients(gradients, devices()), name)};
  const auto averages = averages_by_tower(gradients, devices(), *optimizer_);
  std::vector<Operation> out;
  for (std::size_t t = 0; t < gradients.size(); ++t) {
    const DeviceScope device(devices()[t]);
    out.push_back(optimizer_->apply_processed(averages[t], name + "_" + tower_name(t), Location::current()));
  }
  return out;
}

}  // namespace belfry::bench
