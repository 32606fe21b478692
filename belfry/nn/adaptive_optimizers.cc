#include "belfry/nn/adaptive_optimizers.h"

#include "belfry/nn/internal/option_checks.h"
#include "belfry/nn/slot_optimizer.h"
#include "belfry/ops/adaptive_optimizers.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

class RmsProp final : public SlotOptimizer {
 public:
  explicit RmsProp(const RmsPropOptions& o)
      : SlotOptimizer(o.learning_rate),
        centered_(o.centered),
        rule_{.alpha = o.alpha, .epsilon = o.epsilon, .momentum = o.momentum, .weight_decay = o.weight_decay} {}
  std::string name() const override { return "RMSProp"; }

 private:
  Tensor update(const Variable& v, const Tensor& rate, const Tensor& gradient, std::string_view name) override {
    RmsPropSlots slots{.mean_square = slot(v, "mean_square")};
    if (centered_) slots.mean_gradient = slot(v, "mean_gradient");
    if (rule_.momentum > 0) slots.accumulator = slot(v, "accumulator");
    if (const auto rows = as_sparse_rows(gradient)) return apply_rmsprop_rows(v, slots, rate, *rows, rule_, name);
    return apply_rmsprop(v, slots, rate, gradient, rule_, name);
  }
  bool centered_;
  RmsPropUpdate rule_;
};

class Adagrad final : public SlotOptimizer {
 public:
  explicit Adagrad(const AdagradOptions& o)
      : SlotOptimizer(o.learning_rate),
        lr_decay_(o.lr_decay),
        initial_(o.initial_accumulator_value),
        rule_{.epsilon = o.epsilon, .weight_decay = o.weight_decay} {}
  std::string name() const override { return "Adagrad"; }

 private:
  void begin(const Variable& first) override {
    if (lr_decay_ > 0) step_ = state_of(first, "Adagrad/step", {}, DType::f32).assign_add(1.f);
  }
  Tensor update(const Variable& v, const Tensor& full_rate, const Tensor& gradient, std::string_view name) override {
    const Variable sum = slot(v, "sum", initial_);
    const Tensor rate = lr_decay_ > 0 ? cast(full_rate, f64) / ((cast(step_, f64) - 1.0) * lr_decay_ + 1.0) : full_rate;
    if (const auto rows = as_sparse_rows(gradient)) return apply_adagrad_rows(v, sum, rate, *rows, rule_, name);
    return apply_adagrad(v, sum, rate, gradient, rule_, name);
  }
  double lr_decay_, initial_;
  AdagradUpdate rule_;
  Tensor step_;
};

class Adadelta final : public SlotOptimizer {
 public:
  explicit Adadelta(const AdadeltaOptions& o)
      : SlotOptimizer(o.learning_rate), rule_{.rho = o.rho, .epsilon = o.epsilon, .weight_decay = o.weight_decay} {}
  std::string name() const override { return "Adadelta"; }

 private:
  Tensor update(const Variable& v, const Tensor& rate, const Tensor& gradient, std::string_view name) override {
    const AdadeltaSlots slots{.mean_square = slot(v, "mean_square"), .mean_square_delta = slot(v, "mean_square_delta")};
    if (const auto rows = as_sparse_rows(gradient)) return apply_adadelta_rows(v, slots, rate, *rows, rule_, name);
    return apply_adadelta(v, slots, rate, gradient, rule_, name);
  }
  AdadeltaUpdate rule_;
};

}  // namespace

std::unique_ptr<Optimizer> rmsprop(RmsPropOptions o, const Location& where) {
  const OptionChecks expect{"rmsprop", where};
  expect.rate(o.learning_rate);
  expect.fraction("alpha", o.alpha, 0.99);
  expect.from_zero("epsilon", o.epsilon, "The usual one is 1e-8.");
  expect.fraction("momentum", o.momentum, 0.9);
  expect.weight_decay(o.weight_decay);
  return std::make_unique<RmsProp>(o);
}

std::unique_ptr<Optimizer> adagrad(AdagradOptions o, const Location& where) {
  const OptionChecks expect{"adagrad", where};
  expect.rate(o.learning_rate);
  expect.from_zero("lr_decay", o.lr_decay, "0 means no decay.");
  expect.from_zero("initial_accumulator_value", o.initial_accumulator_value, "It is a sum of squares.");
  expect.from_zero("epsilon", o.epsilon, "The usual one is 1e-10.");
  expect.weight_decay(o.weight_decay);
  return std::make_unique<Adagrad>(o);
}

std::unique_ptr<Optimizer> adadelta(AdadeltaOptions o, const Location& where) {
  const OptionChecks expect{"adadelta", where};
  expect.rate(o.learning_rate);
  expect.fraction("rho", o.rho, 0.9);
  expect.from_zero("epsilon", o.epsilon, "The usual one is 1e-6.");
  expect.weight_decay(o.weight_decay);
  return std::make_unique<Adadelta>(o);
}

}  // namespace belfry
