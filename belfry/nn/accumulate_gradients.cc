#include "belfry/nn/accumulate_gradients.h"

#include <optional>

#include "belfry/base/check.h"
#include "belfry/graph/node.h"
#include "belfry/graph/scope.h"
#include "belfry/graph/update_condition.h"
#include "belfry/nn/internal/train_op.h"
#include "belfry/nn/proxy_optimizer.h"
#include "belfry/nn/slot_variables.h"
#include "belfry/ops/logic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/sparse_optimizer.h"

namespace belfry {
namespace {

class AccumulateGradients final : public ProxyOptimizer {
 public:
  AccumulateGradients(std::unique_ptr<Optimizer> wrapped, int steps, AccumulateOptions options, const Location& where)
      : ProxyOptimizer(std::move(wrapped), "accumulate_gradients", where), steps_(steps), options_(options) {}
  std::string name() const override { return "AccumulateGradients"; }
  std::string gathers_steps() const override { return "accumulate_gradients"; }

  // Processors inside get what is applied: the sums.
  GradientsAndVariables process(const GradientsAndVariables& gradients, const Location& /*where*/) override {
    return gradients;
  }
  Operation apply_processed(const GradientsAndVariables& gradients, std::string_view wanted,
                            const Location& where) override {
    const LocationScope location(where);
    const GradientsAndVariables items = with_gradient(gradients);
    if (items.empty()) return wrapped().apply_gradients(gradients, wanted, where);  // it says what is wrong
    TrainOpScope scope(wanted, name());
    const Variable count = slots_.get(items.front().variable, "AccumulateGradients/count", {}, DType::i32);
    const Tensor before = count.value(), now = add(before, 1);
    const Tensor first = less_equal(before, 0), last = greater_equal(now, steps_);
    std::vector<Operation> updates{count.assign(select(last, 0, now))};

    const Tensors totals = add_up(items, first);
    GradientsAndVariables sums = gradients;
    auto total = totals.begin();
    for (GradientAndVariable& item : sums) {
      if (!item.gradient) continue;
      const DeviceScope device(item.variable.node()->device);
      item.gradient = options_.sum ? *total : *total * (1.0 / steps_);
      ++total;
    }
    const UpdateCondition when(last);
    updates.push_back(wrapped().apply_gradients(sums, "", where));
    return scope.group(updates, where);
  }

 private:
  // A new sum is begun by the first step, not after the last, so that the last sum can be read in place. The first step
  // assigns and the others add; a sparse gradient is always added, in the first step to zeros.
  Tensors add_up(const GradientsAndVariables& items, const Tensor& first) {
    std::vector<Operation> begun;
    std::vector<std::optional<SparseRows>> rows;
    for (const GradientAndVariable& item : items) rows.push_back(as_sparse_rows(item.gradient));
    {
      const UpdateCondition when(first);
      for (std::size_t i = 0; i < items.size(); ++i) {
        const DeviceScope device(items[i].variable.node()->device);
        const Variable sum = sum_of(items[i]);
        begun.emplace_back(sum.assign(rows[i] ? zeros_like(sum) : items[i].gradient));
      }
    }
    Tensors out(items.size());
    const auto add = [&](bool sparse) {
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (rows[i].has_value() != sparse) continue;
        const DeviceScope device(items[i].variable.node()->device);
        const ControlDependencies after({begun[i]});
        const Variable sum = sum_of(items[i]);
        out[i] = sparse ? apply_sgd_rows(sum, -1.f, *rows[i]) : sum.assign_add(items[i].gradient);
      }
    };
    add(true);
    const UpdateCondition when(logical_not(first));
    add(false);
    return out;
  }

  Variable sum_of(const GradientAndVariable& item) { return slots_.like(item.variable, "AccumulateGradients/sum"); }

  int steps_;
  AccumulateOptions options_;
  SlotVariables slots_;
};

}  // namespace

std::unique_ptr<Optimizer> accumulate_gradients(std::unique_ptr<Optimizer> optimizer, int steps,
                                                AccumulateOptions options, const Location& where) {
  BELFRY_CHECK(steps >= 1, "[accumulate_gradients] expected a number of steps of 1 or more, got {} (at {})", steps,
               to_string(where));
  return std::make_unique<AccumulateGradients>(std::move(optimizer), steps, options, where);
}

}  // namespace belfry
