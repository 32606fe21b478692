// SGD, momentum, Adam and AdamW: each an update op and its slots.
#include "belfry/nn/internal/option_checks.h"
#include "belfry/nn/slot_optimizer.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/sparse_optimizer.h"

namespace belfry {
namespace {

class Sgd final : public SlotOptimizer {
 public:
  explicit Sgd(const SgdOptions& o) : SlotOptimizer(o.learning_rate), rule_{.weight_decay = o.weight_decay} {}
  std::string name() const override { return "SGD"; }

 private:
  Tensor update(const Variable& v, const Tensor& rate, const Tensor& gradient, std::string_view name) override {
    if (const auto rows = as_sparse_rows(gradient)) return apply_sgd_rows(v, rate, *rows, rule_, name);
    return apply_sgd(v, rate, gradient, rule_, name);
  }
  SgdUpdate rule_;
};

class Momentum final : public SlotOptimizer {
 public:
  explicit Momentum(const MomentumOptions& o)
      : SlotOptimizer(o.learning_rate),
        rule_{.momentum = o.momentum,
              .nesterov = o.nesterov,
              .weight_decay = o.decoupled ? 0 : o.weight_decay,
              .decoupled_decay = o.decoupled ? o.weight_decay : 0} {}
  std::string name() const override { return "Momentum"; }

 private:
  Tensor update(const Variable& v, const Tensor& rate, const Tensor& gradient, std::string_view name) override {
    const Variable accumulator = slot(v, "accumulator");
    if (const auto rows = as_sparse_rows(gradient))
      return apply_momentum_rows(v, accumulator, rate, *rows, rule_, name);
    return apply_momentum(v, accumulator, rate, gradient, rule_, name);
  }
  MomentumUpdate rule_;
};

class Adam final : public SlotOptimizer {
 public:
  Adam(std::string name, const Operand& learning_rate, const AdamUpdate& rule)
      : SlotOptimizer(learning_rate), name_(std::move(name)), rule_(rule) {}
  std::string name() const override { return name_; }

 private:
  // The updates take the result of the increment, so they come after it on a data path.
  void begin(const Variable& first) override {
    step_ = state_of(first, name_ + "/step", {}, DType::f32).assign_add(1.f);
  }
  Tensor update(const Variable& v, const Tensor& rate, const Tensor& gradient, std::string_view name) override {
    const AdamSlots slots{.m = slot(v, "m"), .v = slot(v, "v")};
    if (const auto rows = as_sparse_rows(gradient)) return apply_adam_rows(v, slots, step_, rate, *rows, rule_, name);
    return apply_adam(v, slots, step_, rate, gradient, rule_, name);
  }
  std::string name_;
  AdamUpdate rule_;
  Tensor step_;
};

template <class Options>
void check_adam(const OptionChecks& expect, const Options& o) {
  expect.rate(o.learning_rate);
  expect.fraction("beta1", o.beta1, 0.9);
  expect.fraction("beta2", o.beta2, 0.999);
  expect.from_zero("epsilon", o.epsilon, "The usual one is 1e-8.");
  expect.weight_decay(o.weight_decay);
}

}  // namespace

std::unique_ptr<Optimizer> sgd(SgdOptions o, const Location& where) {
  const OptionChecks expect{"sgd", where};
  expect.rate(o.learning_rate);
  expect.weight_decay(o.weight_decay);
  return std::make_unique<Sgd>(o);
}

std::unique_ptr<Optimizer> momentum(MomentumOptions o, const Location& where) {
  const OptionChecks expect{"momentum", where};
  expect.rate(o.learning_rate);
  expect.fraction("momentum", o.momentum, 0.9);
  expect.weight_decay(o.weight_decay);
  return std::make_unique<Momentum>(o);
}

std::unique_ptr<Optimizer> adam(AdamOptions o, const Location& where) {
  check_adam({"adam", where}, o);
  return std::make_unique<Adam>(
      "Adam", o.learning_rate,
      AdamUpdate{.beta1 = o.beta1, .beta2 = o.beta2, .epsilon = o.epsilon, .weight_decay = o.weight_decay});
}

std::unique_ptr<Optimizer> adamw(AdamWOptions o, const Location& where) {
  check_adam({"adamw", where}, o);
  return std::make_unique<Adam>(
      "AdamW", o.learning_rate,
      AdamUpdate{.beta1 = o.beta1, .beta2 = o.beta2, .epsilon = o.epsilon, .decoupled_decay = o.weight_decay});
}

}  // namespace belfry
