// Optimizers: from a cost to an operation that updates variables.
//
//   Operation train = adam({.learning_rate = hyper_param("learning_rate", 1e-3f)})->minimize(cost);
//
// The rules are PyTorch's (weight_decay adds weight_decay * variable to the gradient). The state of an update is kept
// in non-trainable variables "<variable>/<optimizer>/<slot>", zero at first, and saved where the variable is. More
// optimizers are in adaptive_optimizers.h (rmsprop, adagrad, adadelta) and layerwise_optimizers.h (lars, lamb).
//
// For a table whose gradient is sparse (gather, embedding) only the rows that were looked up are updated: the slots and
// weight decay of other rows wait until those are looked up (see sparse_optimizer.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/tensor.h"
#include "belfry/graph/variable.h"

#pragma GCC visibility push(default)
namespace belfry {

struct GradientAndVariable {
  Tensor gradient;  // empty: the cost does not depend on the variable
  Variable variable;
  double learning_rate_scale = 1;  // of this variable only: see learning_rate_by_regex.h
};
using GradientsAndVariables = std::vector<GradientAndVariable>;

class Optimizer {
 public:
  Optimizer() = default;
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  virtual std::string name() const = 0;  // "Adam"

  // The gradient of a scalar cost for each variable; by default for all TRAINABLE_VARIABLES; in a tower with separate
  // variables, for those.
  virtual GradientsAndVariables compute_gradients(const Tensor& cost, const std::vector<Variable>& variables,
                                                  const Location& where = Location::current());
  GradientsAndVariables compute_gradients(const Tensor& cost, const Location& where = Location::current());

  // One operation, `name` (default: the optimizer's, made unique), that does all the updates, and runs those UPDATE_OPS
  // that belong to these gradients (see update_ops.h), such as batch norm's averages. Variables without a gradient are
  // not updated, with a warning; it is an error if none has one.
  //
  // It calls process() and then apply_processed(): a trainer whose towers have copies of the variables processes the
  // averages once, and applies the results to each copy.
  Operation apply_gradients(const GradientsAndVariables& gradients, std::string_view name = "",
                            const Location& where = Location::current()) {
    return apply_processed(process(gradients, where), name, where);
  }
  // What changes gradients on their way in (see gradient_processor.h and learning_rate_by_regex.h). Default: nothing.
  virtual GradientsAndVariables process(const GradientsAndVariables& gradients, const Location& /*where*/) {
    return gradients;
  }
  virtual Operation apply_processed(const GradientsAndVariables& gradients, std::string_view name,
                                    const Location& where) = 0;
  // The part of it that counts several steps before it acts: "accumulate_gradients", "lookahead"; otherwise "". Towers
  // that do not wait for each other cannot share such a count.
  virtual std::string gathers_steps() const { return ""; }

  Operation minimize(const Tensor& cost, std::string_view name = "", const Location& where = Location::current());
  Operation minimize(const Tensor& cost, const std::vector<Variable>& variables, std::string_view name = "",
                     const Location& where = Location::current());
};

// A learning rate is a number, a variable or any scalar tensor.
struct SgdOptions {
  Operand learning_rate;
  double weight_decay = 0;  // decoupled or not makes no difference without momentum: w -= lr (g + weight_decay w)
};
struct MomentumOptions {
  Operand learning_rate;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  bool decoupled = false;  // SGDW: the decay is not part of the momentum but a separate w -= lr weight_decay w
};
struct AdamOptions {
  Operand learning_rate = 1e-3f;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};

// Adam with decoupled decay: besides the update, w -= learning_rate weight_decay w.
struct AdamWOptions {
  Operand learning_rate = 1e-3f;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
};

std::unique_ptr<Optimizer> sgd(SgdOptions options, const Location& where = Location::current());
// Slot "accumulator".
std::unique_ptr<Optimizer> momentum(MomentumOptions options, const Location& where = Location::current());
// Slots "m" and "v". The number of the update is a separate variable, "Adam/step": one for each set of variables that
// is updated together, incremented once per update.
std::unique_ptr<Optimizer> adam(AdamOptions options = {}, const Location& where = Location::current());
// Like Adam, under the name "AdamW".
std::unique_ptr<Optimizer> adamw(AdamWOptions options = {}, const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
