// An optimizer around another one: the base of those that change gradients on their way in, or do something more with
// each update. They nest in any order: accumulate_gradients(ema_of_weights(adam()), 4).
//
// As it stands it passes everything on; a derived one overrides what it changes: process() if gradients come out as
// gradients, apply_processed() if there is more to an update. There, entries without a gradient are passed on as they
// are (the innermost optimizer warns about them), and an entry's other members are kept.
#pragma once

#include <memory>
#include <string>

#include "belfry/nn/optimizer.h"

#pragma GCC visibility push(default)
namespace belfry {

class ProxyOptimizer : public Optimizer {
 public:
  std::string name() const override { return wrapped_->name(); }
  using Optimizer::compute_gradients;
  GradientsAndVariables compute_gradients(const Tensor& cost, const std::vector<Variable>& variables,
                                          const Location& where) override {
    return wrapped_->compute_gradients(cost, variables, where);
  }
  GradientsAndVariables process(const GradientsAndVariables& gradients, const Location& where) override {
    return wrapped_->process(gradients, where);
  }
  Operation apply_processed(const GradientsAndVariables& gradients, std::string_view name,
                            const Location& where) override {
    return wrapped_->apply_processed(gradients, name, where);
  }
  std::string gathers_steps() const override { return wrapped_->gathers_steps(); }

 protected:
  // `caller` leads the text of the error that a missing optimizer is.
  ProxyOptimizer(std::unique_ptr<Optimizer> wrapped, const char* caller, const Location& where);
  Optimizer& wrapped() { return *wrapped_; }

  // Those of the entries that will be updated.
  static GradientsAndVariables with_gradient(const GradientsAndVariables& all);
  // The variable's value after an operation that updates it. Only the read waits: what is computed from it is free to
  // be fused.
  static Tensor read_after(const Operation& update, const Variable& variable);

 private:
  std::unique_ptr<Optimizer> wrapped_;
};

}  // namespace belfry
#pragma GCC visibility pop
