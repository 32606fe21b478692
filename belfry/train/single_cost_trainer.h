// SingleCostTrainer: from a tower function that returns a cost, and an optimizer, to the op that trains.
//
//   SimpleTrainer trainer;                          // or SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
//   trainer.setup_graph(signature, QueueInput(flow), [](Inputs in) { return cost_of(in); },
//                       [] { return sgd({.learning_rate = 0.1f}); });
//   trainer.train_with_defaults({.max_epoch = 5});
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "belfry/input/input_source.h"
#include "belfry/nn/optimizer.h"
#include "belfry/train/cost_guard.h"
#include "belfry/train/model_desc.h"
#include "belfry/train/tower_trainer.h"

#pragma GCC visibility push(default)
namespace belfry {

using GetCost = std::function<Tensor(Inputs)>;
using GetOptimizer = std::function<std::unique_ptr<Optimizer>()>;

class SingleCostTrainer : public TowerTrainer {
 public:
  using TowerTrainer::TowerTrainer;

  // Set before setup_graph(): a trainable variable that the cost does not depend on is an error (rule 2 of tower
  // functions), not a warning.
  bool require_gradients = false;
  // Set before setup_graph(): what happens when the cost of a step, in any tower, is NaN or infinite.
  OnBadCost on_bad_cost = OnBadCost::stop_after_epoch;
  // Set before setup_graph(): whether the tower function is called three extra times, to check its rules (see
  // TowerFuncOptions).
  bool check_tower_rules = true;

  // To be called once; after an error it may be called again, with another input. The optimizer is built once; the cost
  // function is called for every tower.
  void setup_graph(const std::vector<TensorSpec>& signature, InputSourcePtr input, GetCost get_cost,
                   const GetOptimizer& get_optimizer, const Location& where = Location::current());
  // The same for a model, with its own optimizer unless one is given. If model<M>() made it, the calls that check the
  // rules of tower functions are made on another model.
  void setup_graph(const Handle<ModelDesc>& model, InputSourcePtr input, const GetOptimizer& get_optimizer = {},
                   const Location& where = Location::current());

  // A subclass whose run_step() puts scalars must declare them, or return false.
  bool declares_metrics() const override { return true; }

 protected:
  // Builds the towers and sets train_op.
  virtual void build(InputSource& input, Optimizer& optimizer) = 0;
  std::optional<std::int64_t> default_steps_per_epoch() const override;
  // Builds one tower in the current tower context; returns its cost.
  Tensor build_tower(InputSource& input);
  // The call of setup_graph(): the line for what build() makes besides the towers.
  const Location& set_up_at() const { return where_; }
  // Those of all towers built so far, in order.
  const std::vector<Tensor>& costs() const { return costs_; }
  // Those of them that belong to the runs of train_op.
  virtual std::vector<Tensor> costs_of_step() const { return costs_; }
  bool rolls_back() const override { return on_bad_cost == OnBadCost::roll_back; }
  // For towers with separate runs: where they report their costs.
  const std::shared_ptr<BadCosts>& bad_costs() const { return bad_costs_; }

 private:
  void set_up(TowerFunc tower_func, InputSourcePtr input, const GetOptimizer& get_optimizer, const Location& where);
  InputSourcePtr input_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<Tensor> costs_;
  std::shared_ptr<BadCosts> bad_costs_;
  Location where_;
};

}  // namespace belfry
#pragma GCC visibility pop
