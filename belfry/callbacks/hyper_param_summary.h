// The learning rate of each epoch among its metrics.
#pragma once

#include <vector>

#include "belfry/graph/variable.h"
#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

// Puts the values of all variables made by hyper_param(), by name, when the steps of an epoch are done: the values that
// its last step used, before a schedule sets the next ones. Omits names that another callback puts.
class HyperParamSummary final : public Callback {
 public:
  void setup_graph() override;
  void after_epoch() override;
  bool declares_metrics() const override { return true; }

 private:
  std::vector<Variable> parameters_;
};

}  // namespace belfry
#pragma GCC visibility pop
