// What all optimizers with an update op share: the loop over gradients and the variables that keep an update's state.
#pragma once

#include <string>
#include <utility>

#include "belfry/nn/initializers.h"
#include "belfry/nn/optimizer.h"
#include "belfry/nn/slot_variables.h"

#pragma GCC visibility push(default)
namespace belfry {

class SlotOptimizer : public Optimizer {
 public:
  Operation apply_processed(const GradientsAndVariables& gradients, std::string_view name, const Location& where) final;

 protected:
  explicit SlotOptimizer(Operand learning_rate) : learning_rate_(std::move(learning_rate)) {}

  // Called once before the updates of one apply_gradients(), whose first variable is `first`.
  virtual void begin(const Variable& /*first*/) {}
  // The op that updates one variable.
  virtual Tensor update(const Variable& variable, const Tensor& learning_rate, const Tensor& gradient,
                        std::string_view name) = 0;

  // State that belongs to a variable: made once by this optimizer, placed and saved like the variable.
  Variable slot(const Variable& owner, const std::string& slot_name, double initial = 0) {
    return state_of(owner, owner.name() + "/" + name() + "/" + slot_name, owner.shape(), owner.dtype(), initial);
  }
  Variable state_of(const Variable& owner, const std::string& full_name, const Shape& shape, DType dtype,
                    double initial = 0) {
    return state_.get(owner, full_name, shape, dtype, init::constant(initial));
  }

 private:
  Operand learning_rate_;
  SlotVariables state_;
};

}  // namespace belfry
#pragma GCC visibility pop
