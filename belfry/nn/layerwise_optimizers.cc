#include "belfry/nn/layerwise_optimizers.h"

#include <functional>

#include "belfry/nn/internal/option_checks.h"
#include "belfry/nn/name_pattern.h"
#include "belfry/nn/slot_optimizer.h"
#include "belfry/ops/layerwise_optimizers.h"

namespace belfry {
namespace {

// The rule for one variable.
template <class Rule>
Rule rule_for(const Variable& v, const NamePattern& excluded, Rule rule) {
  if (!excluded.matches(v)) return rule;
  rule.weight_decay = 0;
  rule.adapt = false;
  return rule;
}

class Lars final : public SlotOptimizer {
 public:
  Lars(const LarsOptions& o, NamePattern excluded)
      : SlotOptimizer(o.learning_rate),
        excluded_(std::move(excluded)),
        rule_{.momentum = o.momentum,
              .trust_coefficient = o.trust_coefficient,
              .weight_decay = o.weight_decay,
              .epsilon = o.epsilon} {}
  std::string name() const override { return "LARS"; }

 private:
  Tensor update(const Variable& v, const Tensor& rate, const Tensor& gradient, std::string_view name) override {
    const Variable accumulator = slot(v, "accumulator");
    const LarsUpdate rule = rule_for(v, excluded_, rule_);
    if (const auto rows = as_sparse_rows(gradient)) return apply_lars_rows(v, accumulator, rate, *rows, rule, name);
    return apply_lars(v, accumulator, rate, gradient, rule, name);
  }
  NamePattern excluded_;
  LarsUpdate rule_;
};

class Lamb final : public SlotOptimizer {
 public:
  Lamb(const LambOptions& o, NamePattern excluded)
      : SlotOptimizer(o.learning_rate),
        excluded_(std::move(excluded)),
        rule_{.beta1 = o.beta1, .beta2 = o.beta2, .epsilon = o.epsilon, .weight_decay = o.weight_decay} {}
  std::string name() const override { return "LAMB"; }

 private:
  // The updates take the result of the increment, so they come after it on a data path.
  void begin(const Variable& first) override { step_ = state_of(first, "LAMB/step", {}, DType::f32).assign_add(1.f); }
  Tensor update(const Variable& v, const Tensor& rate, const Tensor& gradient, std::string_view name) override {
    const AdamSlots slots{.m = slot(v, "m"), .v = slot(v, "v")};
    const LambUpdate rule = rule_for(v, excluded_, rule_);
    if (const auto rows = as_sparse_rows(gradient)) return apply_lamb_rows(v, slots, step_, rate, *rows, rule, name);
    return apply_lamb(v, slots, step_, rate, gradient, rule, name);
  }
  NamePattern excluded_;
  LambUpdate rule_;
  Tensor step_;
};

}  // namespace

std::unique_ptr<Optimizer> lars(LarsOptions o, const Location& where) {
  const OptionChecks expect{"lars", where};
  expect.rate(o.learning_rate);
  expect.fraction("momentum", o.momentum, 0.9);
  expect.from_zero("trust_coefficient", o.trust_coefficient, "The usual one is 1e-3.");
  expect.weight_decay(o.weight_decay);
  expect.from_zero("epsilon", o.epsilon, "The usual one is 1e-8.");
  return std::make_unique<Lars>(o, NamePattern("lars", o.exclude, where));
}

std::unique_ptr<Optimizer> lamb(LambOptions o, const Location& where) {
  const OptionChecks expect{"lamb", where};
  expect.rate(o.learning_rate);
  expect.fraction("beta1", o.beta1, 0.9);
  expect.fraction("beta2", o.beta2, 0.999);
  expect.from_zero("epsilon", o.epsilon, "The usual one is 1e-6.");
  expect.weight_decay(o.weight_decay);
  return std::make_unique<Lamb>(o, NamePattern("lamb", o.exclude, where));
}

}  // namespace belfry
