#include "benchmarks/gan_trainer.h"

#include "belfry/train/tower_gradients.h"

namespace belfry::bench {
namespace {

std::vector<Variable> made_under(std::string_view scope, const TowerTensorHandle& tower) {
  std::vector<Variable> out = tower.trainable_variables();
  std::erase_if(out, [&](const Variable& v) { return !tower.local_name(v).starts_with(scope); });
  return out;
}

}  // namespace

void report(const Tensor& d_cost, const Tensor& g_cost) {
  concat({expand_dims(d_cost, 0), expand_dims(g_cost, 0)}, 0, "loss");
}

GanTrainer::GanTrainer(const GanModel& model, const Towers& towers, InputSourcePtr input)
    : devices_(cpu_devices(towers.devices)), own_variables_(towers.own_variables), optimizer_(model.optimizer()) {
  const GraphScope scope(graph());
  const TowerSettings settings{.devices = devices_, .own_variables = own_variables_};
  register_callbacks(input->setup(model.signature));
  set_tower_func(model.d_tower, model.signature);

  Tensors images, d_costs;                       // by tower
  std::vector<std::vector<Variable>> generator;  // by tower
  auto d = build_towers(settings, *optimizer_, [&] {
    const Tensors made = tower_func()(input->get_input_tensors());
    images.push_back(made[0]);
    d_costs.push_back(made[1]);
    generator.push_back(made_under(model.g_scope, tower_func().towers().all().back()));
    return made[1];
  });
  for (GradientsAndVariables& tower : d) std::erase_if(tower, [](const auto& item) { return !item.gradient; });
  const std::vector<Operation> d_min = apply(d, "d_min");

  std::vector<GradientsAndVariables> g;
  for (std::size_t t = 0; t < devices_.size(); ++t) {
    const DeviceScope device(device_name(devices_[t]));
    const TrainTowerContext tower(tower_name(t), {.index = static_cast<int>(t),
                                                  .total = towers.devices,
                                                  .variable_scope = tower_variable_scope(settings, t),
                                                  .reuse = Reuse::yes});
    const Tensor cost = model.g_cost(images[t], d_min[own_variables_ ? t : 0]);
    report(d_costs[t], cost);
    g.push_back(optimizer_->compute_gradients(cost, generator[t]));
  }
  std::vector<Operation> all = apply(g, "g_min");
  all.insert(all.end(), d_min.begin(), d_min.end());
  train_op = group(all, "train_op");
  if (own_variables_) register_callback(RunOp([this] { return broadcast(); }, {.as_trigger = false}));
}

std::vector<Operation> GanTrainer::apply(const std::vector<GradientsAndVariables>& gradients, const std::string& name) {
  const Tensors averages = average_gradients(gradients, devices_);
  std::vector<Operation> out;
  for (std::size_t t = 0; t < (own_variables_ ? gradients.size() : 1); ++t) {
    GradientsAndVariables items = gradients[t];
    for (std::size_t v = 0; v < items.size(); ++v) items[v].gradient = averages[v];
    const DeviceScope device(device_name(devices_[t]));
    out.push_back(optimizer_->apply_gradients(items, own_variables_ ? name + "_" + tower_name(t) : name));
  }
  return out;
}

Operation GanTrainer::broadcast() const {
  const std::vector<TowerTensorHandle> all = towers().training();
  std::vector<Operation> copies;
  for (std::size_t t = 1; t < all.size(); ++t) {
    const DeviceScope device(device_name(devices_[t]));
    for (const Variable& copy : all[t].trainable_variables())
      copies.emplace_back(copy.assign(all[0].get_variable(all[t].local_name(copy))));
  }
  return group(copies, "broadcast_variables");
}

}  // namespace belfry::bench
