// SGD, momentum and Adam: each an update op and its slots.
#include <cmath>

#include "belfry/base/check.h"
#include "belfry/nn/slot_optimizer.h"
#include "belfry/ops/optimizer.h"

namespace belfry {
namespace {

// NaN fails every comparison, so it is refused too.
void check_from_zero(const char* optimizer, const char* what, double value) {
  BELFRY_CHECK(value >= 0 && std::isfinite(value), "[{}] expected {} from 0 up, got {}", optimizer, what, value);
}
void check_fraction(const char* optimizer, const char* what, double value) {
  BELFRY_CHECK(value >= 0 && value < 1, "[{}] expected {} in [0, 1), got {}", optimizer, what, value);
}
void check_rate(const char* optimizer, const Operand& rate) {
  if (rate.is_number()) return check_from_zero(optimizer, "a learning rate", rate.number());
  const Tensor t = rate.tensor();
  BELFRY_CHECK(t.rank() == 0 && is_float(t.dtype()), "[{}] expected a learning rate that is one float, got '{}' {} {}",
               optimizer, t.name(), name_of(t.dtype()), to_string(t.shape()));
}

class Sgd final : public SlotOptimizer {
 public:
  explicit Sgd(const SgdOptions& o) : SlotOptimizer(o.learning_rate), rule_{.weight_decay = o.weight_decay} {}
  std::string name() const override { return "SGD"; }

 private:
  Tensor update(const Variable& v, const Tensor& rate, const Tensor& gradient, std::string_view name) override {
    return apply_sgd(v, rate, gradient, rule_, name);
  }
  SgdUpdate rule_;
};

class Momentum final : public SlotOptimizer {
 public:
  explicit Momentum(const MomentumOptions& o)
      : SlotOptimizer(o.learning_rate),
        rule_{.momentum = o.momentum, .nesterov = o.nesterov, .weight_decay = o.weight_decay} {}
  std::string name() const override { return "Momentum"; }

 private:
  Tensor update(const Variable& v, const Tensor& rate, const Tensor& gradient, std::string_view name) override {
    return apply_momentum(v, slot(v, "accumulator"), rate, gradient, rule_, name);
  }
  MomentumUpdate rule_;
};

class Adam final : public SlotOptimizer {
 public:
  explicit Adam(const AdamOptions& o)
      : SlotOptimizer(o.learning_rate),
        rule_{.beta1 = o.beta1, .beta2 = o.beta2, .epsilon = o.epsilon, .weight_decay = o.weight_decay} {}
  std::string name() const override { return "Adam"; }

 private:
  // The updates take the result of the increment, so they come after it on a data path.
  void begin(const Variable& first) override { step_ = state_of(first, "Adam/step", {}, DType::f32).assign_add(1.f); }
  Tensor update(const Variable& v, const Tensor& rate, const Tensor& gradient, std::string_view name) override {
    return apply_adam(v, {.m = slot(v, "m"), .v = slot(v, "v")}, step_, rate, gradient, rule_, name);
  }
  AdamUpdate rule_;
  Tensor step_;
};

}  // namespace

std::unique_ptr<Optimizer> sgd(SgdOptions o) {
  check_rate("sgd", o.learning_rate);
  check_from_zero("sgd", "weight_decay", o.weight_decay);
  return std::make_unique<Sgd>(o);
}

std::unique_ptr<Optimizer> momentum(MomentumOptions o) {
  check_rate("momentum", o.learning_rate);
  check_fraction("momentum", "momentum", o.momentum);
  check_from_zero("momentum", "weight_decay", o.weight_decay);
  return std::make_unique<Momentum>(o);
}

std::unique_ptr<Optimizer> adam(AdamOptions o) {
  check_rate("adam", o.learning_rate);
  check_fraction("adam", "beta1", o.beta1);
  check_fraction("adam", "beta2", o.beta2);
  check_from_zero("adam", "epsilon", o.epsilon);
  check_from_zero("adam", "weight_decay", o.weight_decay);
  return std::make_unique<Adam>(o);
}

}  // namespace belfry
