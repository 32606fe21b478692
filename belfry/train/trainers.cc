#include "belfry/train/trainers.h"

#include <algorithm>
#include <numeric>

#include "belfry/base/check.h"
#include "belfry/loop/run_op.h"
#include "belfry/ops/basic.h"
#include "belfry/tower/tower_context.h"
#include "belfry/train/tower_gradients.h"

namespace belfry {

Devices cpu_devices(int count) {
  BELFRY_CHECK(count >= 1, "[cpu_devices] expected at least one device, got {}.", count);
  Devices out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

void SimpleTrainer::build(InputSource& input, Optimizer& optimizer) {
  const TrainTowerContext tower("");
  const Tensor cost = build_tower(input);
  train_op = optimizer.minimize(cost, tower.trainable_variables(), "train_op");
}

void QueueInputTrainer::build(InputSource& input, Optimizer& optimizer) {
  BELFRY_CHECK(input.feed_free(),
               "[QueueInputTrainer] expected an input whose data wait in the graph, got {}. Use "
               "QueueInput.",
               input.name());
  SimpleTrainer::build(input, optimizer);
}

MultiDeviceTrainer::MultiDeviceTrainer(Devices devices, const Location& where)
    : devices_(std::move(devices)), where_(where) {
  BELFRY_CHECK(!devices_.empty(), "[trainer] expected at least one device, got none (at {}).", to_string(where));
  std::ranges::sort(devices_);
  const auto twice = std::ranges::adjacent_find(devices_);
  BELFRY_CHECK(twice == devices_.end(), "[trainer] expected each device once, got cpu:{} twice (at {}).",
               twice == devices_.end() ? 0 : *twice, to_string(where));
  BELFRY_CHECK(devices_.front() >= 0, "[trainer] expected devices from cpu:0 up, got {} (at {}).", devices_.front(),
               to_string(where));
}

SessionConfig MultiDeviceTrainer::adapt(SessionConfig config) const {
  const auto needed = static_cast<std::size_t>(devices_.back()) + 1;
  if (config.devices.size() == 1 && config.devices[0].threads == 0) config.devices.assign(needed, {});
  BELFRY_CHECK(config.devices.size() >= needed,
               "[trainer] expected a session with devices cpu:0 to cpu:{}, got {} (at {}). Add devices to "
               "SessionConfig, or leave them away for equal shares of the cores.",
               devices_.back(), config.devices.size(), to_string(where_));
  return config;
}

void SyncMultiDeviceTrainerParameterServer::build(InputSource& input, Optimizer& optimizer) {
  const auto towers = build_towers({.devices = devices()}, optimizer, [&] { return build_tower(input); });
  const Tensors averages = average_gradients(towers, devices());
  GradientsAndVariables items;
  for (std::size_t v = 0; v < averages.size(); ++v) items.push_back({averages[v], towers[0][v].variable});
  train_op = optimizer.apply_gradients(items, "train_op");
}

std::string SyncMultiDeviceTrainerReplicated::variables_on(int device) const {
  const auto at = std::ranges::find(devices(), device);
  if (at == devices().end()) return "";
  return tower_variable_scope({.devices = devices(), .own_variables = true},
                              static_cast<std::size_t>(at - devices().begin()));
}

void SyncMultiDeviceTrainerReplicated::build(InputSource& input, Optimizer& optimizer) {
  const TowerSettings settings{.devices = devices(), .own_variables = true};
  const auto towers = build_towers(settings, optimizer, [&] { return build_tower(input); });
  const Tensors averages = average_gradients(towers, devices());
  std::vector<Operation> updates;
  std::vector<std::vector<Variable>> slots;  // by tower, in the order in which the optimizer made them
  for (std::size_t t = 0; t < towers.size(); ++t) {
    const DeviceScope device(device_name(devices()[t]));
    GradientsAndVariables items;
    for (std::size_t v = 0; v < averages.size(); ++v) items.push_back({averages[v], towers[t][v].variable});
    const auto before = static_cast<std::ptrdiff_t>(graph().variables().size());
    updates.push_back(optimizer.apply_gradients(items, "train_op_" + tower_name(t)));
    slots.emplace_back(graph().variables().begin() + before, graph().variables().end());
  }
  train_op = group(updates, "train_op");
  register_callback(RunOp([this, slots] { return broadcast(slots); }, {.before_train = true, .as_trigger = true}));
}

Operation SyncMultiDeviceTrainerReplicated::broadcast(const std::vector<std::vector<Variable>>& slots) const {
  const std::vector<TowerTensorHandle> all = towers().training();
  std::vector<Operation> copies;
  for (std::size_t t = 1; t < all.size(); ++t) {
    const DeviceScope device(device_name(devices()[t]));
    for (const Variable& copy : all[t].variables())
      for (const Variable& original : all[0].variables())
        if (original.name() == all[t].local_name(copy) && !(copy == original))
          copies.emplace_back(copy.assign(original));
    for (std::size_t s = 0; s < slots[0].size(); ++s) copies.emplace_back(slots[t][s].assign(slots[0][s]));
  }
  return group(copies, "broadcast_variables");
}

}  // namespace belfry
