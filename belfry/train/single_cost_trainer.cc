#include "belfry/train/single_cost_trainer.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph_transaction.h"
#include "belfry/nn/proxy_optimizer.h"

namespace belfry {
namespace {

// An optimizer that does not do without a gradient.
class GradientsRequired final : public ProxyOptimizer {
 public:
  GradientsRequired(std::unique_ptr<Optimizer> wrapped, const Location& where)
      : ProxyOptimizer(std::move(wrapped), "setup_graph", where), where_(where) {}

  using Optimizer::compute_gradients;
  GradientsAndVariables compute_gradients(const Tensor& cost, const std::vector<Variable>& variables,
                                          const Location& where) override {
    GradientsAndVariables out = wrapped().compute_gradients(cost, variables, where);
    std::string without;
    for (const GradientAndVariable& item : out)
      if (!item.gradient) without += fmt::format("{}'{}'", without.empty() ? "" : ", ", item.variable.name());
    BELFRY_CHECK(without.empty(),
                 "[setup_graph] expected a cost that depends on every trainable variable (rule 2), got no gradient for "
                 "{} (at {}). Use them in the cost, or make them with .trainable = false; without .require_gradients "
                 "they only get a warning.",
                 without, to_string(where_));
    return out;
  }

 private:
  Location where_;
};

}  // namespace

void SingleCostTrainer::setup_graph(const std::vector<TensorSpec>& signature, InputSourcePtr input, GetCost get_cost,
                                    const GetOptimizer& get_optimizer, const Location& where) {
  BELFRY_CHECK(!optimizer_,
               "[setup_graph] expected to be called once, got a second call (at {}). Make another trainer.",
               to_string(where));
  BELFRY_CHECK(get_cost != nullptr && get_optimizer != nullptr && input,
               "[setup_graph] expected an input, a cost function and an optimizer, got an empty one (at {}).",
               to_string(where));
  const GraphScope scope(graph());
  GraphTransaction transaction(graph());
  where_ = where;
  std::unique_ptr<Optimizer> optimizer = get_optimizer();
  BELFRY_CHECK(optimizer != nullptr, "[setup_graph] expected an optimizer, got none (at {}).", to_string(where));
  if (require_gradients) optimizer = std::make_unique<GradientsRequired>(std::move(optimizer), where);
  set_tower_func(std::move(get_cost), signature);
  const std::size_t registered = callbacks().size();
  try {
    register_callbacks(input->setup(signature, where));
    build(*input, *optimizer);
  } catch (...) {
    unregister_callbacks(registered);
    forget_tower_func();
    train_op = {};
    throw;
  }
  transaction.keep();
  input_ = std::move(input);
  optimizer_ = std::move(optimizer);
}

Tensor SingleCostTrainer::build_tower(InputSource& input) {
  const Tensors outputs = tower_func()(input.get_input_tensors(where_), where_);
  const Tensor cost = outputs.empty() ? Tensor() : outputs[0];
  BELFRY_CHECK(
      static_cast<bool>(cost) && cost.rank() == 0 && is_float(cost.dtype()),
      "[setup_graph] expected a tower function that returns a scalar float as its cost, got {} (at {}). Reduce "
      "it first, by reduce_mean() say.",
      cost ? to_string(cost) : "an empty tensor", to_string(where_));
  return cost;
}

std::optional<std::int64_t> SingleCostTrainer::default_steps_per_epoch() const {
  return input_ ? input_->size() : std::nullopt;
}

}  // namespace belfry
