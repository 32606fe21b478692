// SGD, momentum and Adam: each an update op and its slots.
#include <cmath>

#include "belfry/base/check.h"
#include "belfry/nn/slot_optimizer.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/sparse_optimizer.h"

namespace belfry {
namespace {

// Complains about an option with the optimizer's name and the line that made it. NaN fails every comparison, so it is
// refused too.
struct OptionChecks {
  const char* optimizer;
  Location where;

  void from_zero(const char* what, double value, const char* remedy) const {
    BELFRY_CHECK(value >= 0 && std::isfinite(value), "[{}] expected {} from 0 up, got {} (at {}). {}", optimizer, what,
                 value, to_string(where), remedy);
  }
  void fraction(const char* what, double value, double usual) const {
    BELFRY_CHECK(value >= 0 && value < 1, "[{}] expected {} in [0, 1), got {} (at {}). The usual one is {}.", optimizer,
                 what, value, to_string(where), usual);
  }
  void rate(const Operand& rate) const {
    if (rate.is_number())
      return from_zero("a learning rate", rate.number(), "To maximise something, minimize its negative.");
    const Tensor t = rate.tensor();
    BELFRY_CHECK(
        t && t.rank() == 0 && is_float(t.dtype()),
        "[{}] expected a learning rate that is one float, got {} (at {}). Pass a number, a hyper_param(), or a "
        "scalar tensor.",
        optimizer, to_string(t), to_string(where));
  }
  void weight_decay(double value) const { from_zero("weight_decay", value, "0 is none."); }
};

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
        rule_{.momentum = o.momentum, .nesterov = o.nesterov, .weight_decay = o.weight_decay} {}
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
  explicit Adam(const AdamOptions& o)
      : SlotOptimizer(o.learning_rate),
        rule_{.beta1 = o.beta1, .beta2 = o.beta2, .epsilon = o.epsilon, .weight_decay = o.weight_decay} {}
  std::string name() const override { return "Adam"; }

 private:
  // The updates take the result of the increment, so they come after it on a data path.
  void begin(const Variable& first) override { step_ = state_of(first, "Adam/step", {}, DType::f32).assign_add(1.f); }
  Tensor update(const Variable& v, const Tensor& rate, const Tensor& gradient, std::string_view name) override {
    const AdamSlots slots{.m = slot(v, "m"), .v = slot(v, "v")};
    if (const auto rows = as_sparse_rows(gradient)) return apply_adam_rows(v, slots, step_, rate, *rows, rule_, name);
    return apply_adam(v, slots, step_, rate, gradient, rule_, name);
  }
  AdamUpdate rule_;
  Tensor step_;
};

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
  const OptionChecks expect{"adam", where};
  expect.rate(o.learning_rate);
  expect.fraction("beta1", o.beta1, 0.9);
  expect.fraction("beta2", o.beta2, 0.999);
  expect.from_zero("epsilon", o.epsilon, "The usual one is 1e-8.");
  expect.weight_decay(o.weight_decay);
  return std::make_unique<Adam>(o);
}

}  // namespace belfry
