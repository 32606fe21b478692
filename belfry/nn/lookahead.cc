#include "belfry/nn/lookahead.h"

#include "belfry/base/check.h"
#include "belfry/graph/node.h"
#include "belfry/graph/scope.h"
#include "belfry/graph/update_condition.h"
#include "belfry/nn/internal/train_op.h"
#include "belfry/nn/proxy_optimizer.h"
#include "belfry/nn/slot_variables.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

class Lookahead final : public ProxyOptimizer {
 public:
  Lookahead(std::unique_ptr<Optimizer> wrapped, LookaheadOptions options, const Location& where)
      : ProxyOptimizer(std::move(wrapped), "lookahead", where), options_(options) {}
  std::string name() const override { return "Lookahead"; }
  std::string gathers_steps() const override { return "lookahead"; }

  Operation apply_processed(const GradientsAndVariables& gradients, std::string_view wanted,
                            const Location& where) override {
    const LocationScope location(where);
    const GradientsAndVariables items = with_gradient(gradients);
    if (items.empty()) return wrapped().apply_processed(gradients, wanted, where);  // it says what is wrong
    TrainOpScope scope(wanted, name());
    const Variable count = slots_.get(items.front().variable, "Lookahead/count", {}, DType::i32);
    const Tensor now = add(count.value(), 1), last = greater_equal(now, options_.period);
    std::vector<Operation> updates{wrapped().apply_processed(gradients, "", where), count.assign(select(last, 0, now))};
    {
      const UpdateCondition when(last);
      for (const GradientAndVariable& item : items) {
        const DeviceScope device(item.variable.node()->device);
        const Tensor fast = read_after(updates.front(), item.variable);
        const Variable slow = slots_.copy_of(item.variable, "Lookahead/slow");
        const Tensor moved = slow.assign_add((fast - slow) * options_.alpha);
        updates.emplace_back(item.variable.assign(moved));
      }
    }
    return scope.group(updates, where);
  }

 private:
  LookaheadOptions options_;
  SlotVariables slots_;
};

}  // namespace

std::unique_ptr<Optimizer> lookahead(std::unique_ptr<Optimizer> optimizer, LookaheadOptions options,
                                     const Location& where) {
  BELFRY_CHECK(options.period >= 1, "[lookahead] expected a period of 1 or more, got {} (at {}). The usual one is 5.",
               options.period, to_string(where));
  BELFRY_CHECK(options.alpha > 0 && options.alpha <= 1,
               "[lookahead] expected alpha in (0, 1], got {} (at {}). The usual one is 0.5.", options.alpha,
               to_string(where));
  return std::make_unique<Lookahead>(std::move(optimizer), options, where);
}

}  // namespace belfry
