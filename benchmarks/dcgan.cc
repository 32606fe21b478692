// dcgan: a generator of two transposed convolutions and a discriminator of two convolutions; batch 64; Adam 2e-4, beta1
// 0.5. A step trains the discriminator on real and generated images, then the generator against the updated
// discriminator: one run, in which the generator's loss reads the discriminator's variables after their update.
#include <cmath>

#include "benchmarks/async_gan_trainer.h"
#include "benchmarks/gan_trainer.h"
#include "benchmarks/hashed.h"
#include "benchmarks/suite.h"

namespace belfry::bench {
namespace {

const Padding kPad1 = Padding::explicit_({1, 1, 1, 1});

Tensor generator(const Tensor& z) {
  const VariableScope scope("G");
  const Tensor image = reshape(z | fully_connected("fc", {.units = 128 * 49, .use_bias = false}), {kAny, 7, 7, 128});
  const Conv2dTransposeLayerOptions up{.filters = 64, .kernel = 4, .strides = 2, .padding = kPad1, .use_bias = false};
  return image | batch_norm("b0") | relu | conv2d_transpose("t1", up) | batch_norm("b1") | relu |
         conv2d_transpose("t2", {.filters = 1, .kernel = 4, .strides = 2, .padding = kPad1, .activation = tanh});
}

// Batch norm's averages move once per step, with the real images.
Tensor discriminator(const Tensor& x, const VariableScopeOptions& options, EmaUpdate ema_update) {
  const VariableScope scope("D", options);
  const Conv2dLayerOptions down{.filters = 128, .kernel = 4, .strides = 2, .padding = kPad1, .use_bias = false};
  return x | conv2d("c1", {.filters = 64, .kernel = 4, .strides = 2, .padding = kPad1, .activation = leaky_relu}) |
         conv2d("c2", down) | batch_norm("b2", {.ema_update = ema_update}) | leaky_relu |
         fully_connected("fc", {.units = 1});
}

Tensor loss_of(const Tensor& logits, float label) { return reduce_mean(sigmoid_cross_entropy(logits, label)); }

// Variables as they are when `before` is done.
CustomGetter read_after(const Operation& before) {
  return [before](const VariableGetter& next, const std::string& name, const VariableOptions& options) {
    const Variable variable = next(name, options);
    const ControlDependencies after({before});
    return variable.with_value(variable.read());
  };
}

void number_parameters(Suite& s) {
  const double bound = 0.02 * std::sqrt(3.0);
  const Shape image{7, 7, 128};
  const auto add = [&](const std::string& name, Order order) {
    s.parameters.push_back({.name = name, .order = order, .bound = bound, .image = image});
  };
  const auto add_constant = [&](const std::string& name, double value) {
    s.parameters.push_back({.name = name, .constant = value});
  };
  const auto add_norm = [&](const std::string& name) {
    add_constant(name + "/gamma", 1);
    add_constant(name + "/beta", 0);
  };
  add("G/fc/W", Order::before_image);
  add_norm("G/b0");
  add("G/t1/W", Order::conv);
  add_norm("G/b1");
  add("G/t2/W", Order::conv);
  add_constant("G/t2/b", 0);
  add("D/c1/W", Order::conv);
  add_constant("D/c1/b", 0);
  add("D/c2/W", Order::conv);
  add_norm("D/b2");
  add("D/fc/W", Order::after_image);
  add_constant("D/fc/b", 0);
}

// {generated images, the discriminator's loss}
Tensors d_tower(const Inputs& in) {
  const Tensor fake = generator(in["z"]);
  const Tensor real_logits = discriminator(in["x"], {}, EmaUpdate::collection),
               fake_logits = discriminator(stop_gradient(fake), {.reuse = Reuse::yes}, EmaUpdate::skip);
  return {fake, loss_of(real_logits, 1) + loss_of(fake_logits, 0)};
}

Tensor g_loss(const Tensor& fake, const Operation& d_min) {
  return loss_of(discriminator(fake, {.reuse = Reuse::yes, .custom_getter = read_after(d_min)}, EmaUpdate::skip), 1);
}

GanModel model() {
  return {.signature = {{"x", f32, {kAny, 28, 28, 1}}, {"z", f32, {kAny, 100}}},
          .optimizer = [] { return adam({.learning_rate = 2e-4f, .beta1 = 0.5}); },
          .d_tower = d_tower,
          .g_cost = g_loss,
          .d_scope = "D/",
          .g_scope = "G/"};
}

std::vector<Variable> trainable(std::string_view scope) {
  std::vector<Variable> out;
  for (const Variable& v : current_graph().collections().variables(collection::kTrainableVariables))
    if (v.name().starts_with(scope)) out.push_back(v);
  return out;
}

Operation step(const Tensors& in) {
  const auto optimizer = model().optimizer();
  const Tensors made = d_tower(Inputs(model().signature, in));
  const Operation d_min = optimizer->minimize(made[1], trainable("D/"), "d_min");
  const Tensor g_cost = g_loss(made[0], d_min);
  const Operation g_min = optimizer->minimize(g_cost, trainable("G/"), "g_min");
  report(made[1], g_cost);
  return group({d_min, g_min}, "train");
}

}  // namespace

Suite make_dcgan() {
  Suite s{.name = "dcgan", .steps = 10, .warmup = 4, .items = 64};
  s.signature = model().signature;
  s.step = step;
  s.trainer = [](const std::string& trainer, int devices,
                 const InputSourcePtr& input) -> std::unique_ptr<TowerTrainer> {
    if (trainer == "async") return std::make_unique<AsyncGanTrainer>(model(), cpu_devices(devices), input);
    return std::make_unique<GanTrainer>(model(), cpu_devices(devices), trainer == "replicated", input);
  };
  number_parameters(s);
  for (int b = 0; b < 4; ++b) s.batches.push_back({hashed_images(b, 64, 1, 28, 28), hashed_rows(100 + b, 64, 100)});
  return s;
}

}  // namespace belfry::bench
