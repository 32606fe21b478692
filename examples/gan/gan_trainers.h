// Three trainers for two players. They differ only in what a step is; the model does not know which of them trains it.
#pragma once

#include <belfry/belfry.h>

#include <utility>
#include <vector>

#include "examples/gan/gan_model.h"

// One run updates both players. Both losses come from the same forward pass, with the weights that the run began with:
// a variable has one value in a run, unless an assignment comes before the read. So the generator's gradient does not
// see the discriminator's update of this step, only that of the last one, as in Tensorpack, and the discriminator is
// computed once for both.
class GANTrainer final : public belfry::TowerTrainer {
 public:
  GANTrainer(belfry::InputSourcePtr input, GANModelDesc& model) {
    register_callbacks(input->setup(model.inputs()));
    set_tower_func([&](const belfry::Inputs& in) { return model.build_graph(in); }, model.inputs());
    const auto optimizer = model.optimizer();
    const belfry::TrainTowerContext tower("");
    const belfry::Tensors losses = tower_func()(input->get_input_tensors());
    train_op = belfry::group({optimizer->minimize(losses[0], model.d_vars(tower), "d_min"),
                              optimizer->minimize(losses[1], model.g_vars(tower), "g_min")},
                             "train_op");
    register_callback(belfry::CostGuard({{train_op, losses}}));  // a loss that is NaN or infinite ends training
  }
};

// Each player has a period in steps, and a separate run when it is its turn. If both have a turn, the generator plays
// against the discriminator after its update. Turns depend on iteration(), which counts steps; global_step() counts
// hooked runs, of which a step has none, one or two here.
class SeparateGANTrainer final : public belfry::TowerTrainer {
 public:
  struct Periods {
    int d = 1, g = 1;
  };

  SeparateGANTrainer(belfry::InputSourcePtr input, GANModelDesc& model, Periods periods) : periods_(periods) {
    register_callbacks(input->setup(model.inputs()));
    set_tower_func([&](const belfry::Inputs& in) { return model.build_graph(in); }, model.inputs());
    const auto optimizer = model.optimizer();
    const belfry::TrainTowerContext tower("");
    const belfry::Tensors losses = tower_func()(input->get_input_tensors());
    d_min_ = optimizer->minimize(losses[0], model.d_vars(tower), "d_min");
    g_min_ = optimizer->minimize(losses[1], model.g_vars(tower), "g_min");
    register_callback(belfry::CostGuard({{d_min_, {losses[0]}}, {g_min_, {losses[1]}}}));
  }

  // Both hooked: each is a step of training that callbacks take part in.
  void run_step() override {
    if (iteration() % periods_.d == 0) hooked_session().run(d_min_);
    if (iteration() % periods_.g == 0) hooked_session().run(g_min_);
  }

 private:
  Periods periods_;
  belfry::Operation d_min_, g_min_;
};

// GANTrainer's step on several devices: a tower on each, with its own points; each loss's gradients are averaged in the
// order of the towers, and applied once.
class MultiDeviceGANTrainer final : public belfry::TowerTrainer {
 public:
  MultiDeviceGANTrainer(belfry::InputSourcePtr input, GANModelDesc& model, belfry::Devices on)
      : TowerTrainer(std::move(on)) {
    register_callbacks(input->setup(model.inputs()));
    set_tower_func([&](const belfry::Inputs& in) { return model.build_graph(in); }, model.inputs());
    const auto optimizer = model.optimizer();
    std::vector<belfry::GradientsAndVariables> d, g;  // by tower
    belfry::Tensors watched;
    belfry::build_towers({.devices = devices()}, [&](const belfry::TowerContext& tower) {
      const belfry::Tensors losses = tower_func()(input->get_input_tensors());
      watched.insert(watched.end(), losses.begin(), losses.end());
      d.push_back(optimizer->compute_gradients(losses[0], model.d_vars(tower)));
      g.push_back(optimizer->compute_gradients(losses[1], model.g_vars(tower)));
    });
    train_op = belfry::group({optimizer->apply_gradients(belfry::average_gradients(d, devices()), "d_min"),
                              optimizer->apply_gradients(belfry::average_gradients(g, devices()), "g_min")},
                             "train_op");
    register_callback(belfry::CostGuard({{train_op, watched}}));
  }
};
