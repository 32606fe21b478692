#include "belfry/train/async_trainer.h"

#include "belfry/base/check.h"
#include "belfry/ops/pointwise.h"
#include "belfry/tower/tower_context.h"
#include "belfry/train/tower_gradients.h"

namespace belfry {

AsyncMultiDeviceTrainer::AsyncMultiDeviceTrainer(Devices devices, AsyncOptions options, const Location& where)
    : MultiDeviceTrainer(std::move(devices), where), options_(options) {}

// Every tower is on the first device of its own session.
void AsyncMultiDeviceTrainer::build(InputSource& input, Optimizer& optimizer) {
  BELFRY_CHECK(!input.staged(),
               "[AsyncMultiDeviceTrainer] expected an input from which each tower takes its points by itself, got a "
               "StagingInput, which stages for all towers at once. Use the input inside it.");
  BELFRY_CHECK(optimizer.gathers_steps().empty(),
               "[AsyncMultiDeviceTrainer] expected an optimizer that updates in every step, got {}, whose count and "
               "sums the towers would overwrite for one another. Remove it, or use a synchronous trainer.",
               optimizer.gathers_steps());
  const double scale = options_.scale_gradients ? 1.0 / static_cast<double>(devices().size()) : 1.0;
  towers_.clear();  // those of a failed build
  for (std::size_t t = 0; t < devices().size(); ++t) {
    const TrainTowerContext tower(
        tower_name(t), {.index = static_cast<int>(t), .total = static_cast<int>(devices().size()), .own_runs = true});
    const Tensor cost = build_tower(input);
    const LocationScope location(set_up_at());
    GradientsAndVariables gradients = optimizer.compute_gradients(cost, tower.trainable_variables());
    for (GradientAndVariable& item : gradients)
      if (item.gradient && scale != 1) item.gradient = item.gradient * scale;
    const Operation apply = optimizer.apply_gradients(gradients, "apply_" + tower_name(t));
    const Operation step = towers_.step(apply, t == 0 ? "train_op" : "train_op_" + tower_name(t));
    if (t == 0)
      train_op = step;
    else
      towers_.add(step, devices()[t], cost, [bad = bad_costs(), name = cost.name()](double value, std::int64_t run) {
        bad->look(name, value, run);
      });
  }
  register_callback(towers_.callback());
}

std::vector<Operation> AsyncMultiDeviceTrainer::train_ops() const {
  std::vector<Operation> out = towers_.steps();
  out.push_back(train_op);
  return out;
}

void AsyncMultiDeviceTrainer::run_step() {
  towers_.check();
  MultiDeviceTrainer::run_step();
}

}  // namespace belfry
