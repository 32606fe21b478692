#include "belfry/train/trainers.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/loop/run_op.h"
#include "belfry/ops/basic.h"
#include "belfry/tower/tower_context.h"
#include "belfry/train/broadcast_variables.h"
#include "belfry/train/tower_gradients.h"

namespace belfry {

void SimpleTrainer::build(InputSource& input, Optimizer& optimizer) {
  const TrainTowerContext tower("");
  const Tensor cost = build_tower(input);
  train_op = optimizer.minimize(cost, tower.trainable_variables(), "train_op", set_up_at());
}

void QueueInputTrainer::build(InputSource& input, Optimizer& optimizer) {
  BELFRY_CHECK(input.feed_free(),
               "[QueueInputTrainer] expected an input whose data come from the graph, got {}. Use QueueInput.",
               input.name());
  SimpleTrainer::build(input, optimizer);
}

std::vector<GradientsAndVariables> MultiDeviceTrainer::build_all(const TowerSettings& settings, InputSource& input,
                                                                 Optimizer& optimizer) {
  std::vector<GradientsAndVariables> out;
  build_towers(settings, [&](const TowerContext& tower) {
    const Tensor cost = build_tower(input);
    out.push_back(optimizer.compute_gradients(cost, tower.trainable_variables(), set_up_at()));
  });
  return out;
}

void SyncMultiDeviceTrainerParameterServer::build(InputSource& input, Optimizer& optimizer) {
  const auto towers = build_all({.devices = devices()}, input, optimizer);
  const LocationScope location(set_up_at());
  train_op = optimizer.apply_gradients(average_gradients(towers, devices()), "train_op");
}

std::string SyncMultiDeviceTrainerReplicated::variables_on(const Device& device) const {
  const auto at = std::ranges::find(devices(), device);
  if (at == devices().end()) return "";
  return tower_variable_scope({.devices = devices(), .own_variables = true},
                              static_cast<std::size_t>(at - devices().begin()));
}

void SyncMultiDeviceTrainerReplicated::build(InputSource& input, Optimizer& optimizer) {
  const TowerSettings settings{.devices = devices(), .own_variables = true};
  const auto towers = build_all(settings, input, optimizer);
  const LocationScope location(set_up_at());
  const auto averages = averages_by_tower(towers, devices(), optimizer);
  std::vector<Operation> updates;
  std::vector<std::vector<Variable>> slots;  // by tower, in the order in which the optimizer made them
  for (std::size_t t = 0; t < towers.size(); ++t) {
    const DeviceScope device(devices()[t]);
    const auto before = static_cast<std::ptrdiff_t>(graph().variables().size());
    updates.push_back(optimizer.apply_processed(averages[t], "train_op_" + tower_name(t), set_up_at()));
    slots.emplace_back(graph().variables().begin() + before, graph().variables().end());
  }
  train_op = group(updates, "train_op");
  const auto broadcast = [this, slots] {
    const LocationScope location(set_up_at());
    return broadcast_variables(this->towers().training(), devices(), slots);
  };
  register_callback(RunOp(broadcast, {.before_train = true, .when_continued = true, .as_trigger = true}));
}

}  // namespace belfry
