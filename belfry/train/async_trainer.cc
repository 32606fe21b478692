#include "belfry/train/async_trainer.h"

#include "belfry/base/check.h"
#include "belfry/graph/scope.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/nn/initializers.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/tower/tower_context.h"
#include "belfry/train/tower_gradients.h"

namespace belfry {

// Lets the other towers run within the epochs.
class AsyncMultiDeviceTrainer::Pauses final : public Callback {
 public:
  explicit Pauses(AsyncMultiDeviceTrainer& owner) : owner_(&owner) {}
  void before_train() override { owner_->towers_.start(trainer().session(), owner_->others_); }
  void before_epoch() override { owner_->towers_.resume(); }
  void after_epoch() override { owner_->towers_.pause(); }
  void trigger_epoch() override {
    trainer().monitors().put_scalar("async_updates", static_cast<double>(owner_->async_updates()));
  }
  bool chief_only() const override { return false; }
  std::string name() const override { return "AsyncMultiDeviceTrainer"; }

 private:
  AsyncMultiDeviceTrainer* owner_;
};

AsyncMultiDeviceTrainer::AsyncMultiDeviceTrainer(Devices devices, AsyncOptions options, const Location& where)
    : MultiDeviceTrainer(std::move(devices), where), options_(options) {}

// Every tower is on the first device of its own session.
void AsyncMultiDeviceTrainer::build(InputSource& input, Optimizer& optimizer) {
  BELFRY_CHECK(dynamic_cast<StagingInput*>(&input) == nullptr,
               "[AsyncMultiDeviceTrainer] expected an input from which each tower takes its points by itself, got a "
               "StagingInput, which stages for all towers at once. Use the input inside it.");
  BELFRY_CHECK(optimizer.gathers_steps().empty(),
               "[AsyncMultiDeviceTrainer] expected an optimizer that updates in every step, got {}, whose count and "
               "sums the towers would overwrite for one another. Leave it away, or use a synchronous trainer.",
               optimizer.gathers_steps());
  const double scale = options_.scale_gradients ? 1.0 / static_cast<double>(devices().size()) : 1.0;
  // Part of the runs, so that it stands still when they do.
  updates_ = new_variable("async_updates", {.shape = {},
                                            .dtype = DType::i64,
                                            .initializer = init::zeros(),
                                            .collections = {std::string(collection::kLocalVariables)}});
  others_.clear();  // of a build that failed
  for (std::size_t t = 0; t < devices().size(); ++t) {
    const TrainTowerContext tower(
        tower_name(t), {.index = static_cast<int>(t), .total = static_cast<int>(devices().size()), .own_runs = true});
    const Tensor cost = build_tower(input);
    GradientsAndVariables gradients = optimizer.compute_gradients(cost, tower.trainable_variables());
    for (GradientAndVariable& item : gradients)
      if (item.gradient && scale != 1) item.gradient = item.gradient * scale;
    const Operation apply = optimizer.apply_gradients(gradients, "apply_" + tower_name(t));
    const ControlDependencies applied({apply});
    const Operation train =
        group({Operation(updates_.assign_add(1))}, t == 0 ? "train_op" : "train_op_" + tower_name(t));
    if (t == 0)
      train_op = train;
    else
      others_.push_back({train, devices()[t]});
  }
  register_callback(Pauses(*this));
}

std::int64_t AsyncMultiDeviceTrainer::async_updates() const {
  return static_cast<std::int64_t>(session().value(updates_).item());
}

std::vector<Operation> AsyncMultiDeviceTrainer::train_ops() const {
  std::vector<Operation> out = MultiDeviceTrainer::train_ops();
  for (const AsyncTowers::Tower& tower : others_) out.push_back(tower.train);
  return out;
}

void AsyncMultiDeviceTrainer::run_step() {
  towers_.check();
  MultiDeviceTrainer::run_step();
}

}  // namespace belfry
