// An optimizer around another one: the base of those that change gradients before an update, or do more in each update.
// They nest in any order: accumulate_gradients(ema_of_weights(adam()), 4).
//
// It passes everything on; a derived class overrides process() to change gradients, or apply_processed() to do more in
// an update. That has to pass entries without a gradient on unchanged (the innermost optimizer warns about them), and
// to keep an entry's other members.
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
  // Throws if there is no optimizer; `caller` begins the text of that error.
  ProxyOptimizer(std::unique_ptr<Optimizer> wrapped, const char* caller, const Location& where);
  Optimizer& wrapped() { return *wrapped_; }

  // Those of the entries that will be updated.
  static GradientsAndVariables with_gradient(const GradientsAndVariables& all);
  // The variable's value after an operation that updates it. Only the read waits for it: what is computed from the
  // value can still be fused.
  static Tensor read_after(const Operation& update, const Variable& variable);

 private:
  std::unique_ptr<Optimizer> wrapped_;
};

}  // namespace belfry
#pragma GCC visibility pop
