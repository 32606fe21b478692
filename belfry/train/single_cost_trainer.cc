#include "belfry/train/single_cost_trainer.h"

#include "belfry/base/check.h"
#include "belfry/graph/internal/graph_transaction.h"
#include "belfry/nn/proxy_optimizer.h"

namespace belfry {
namespace {

// An optimizer that throws if a gradient is missing.
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
  TowerFunc tower_func;
  if (get_cost != nullptr) tower_func = {std::move(get_cost), signature, {.check_tower_rules = check_tower_rules}};
  set_up(std::move(tower_func), std::move(input), get_optimizer, where);
}

void SingleCostTrainer::setup_graph(const Handle<ModelDesc>& model, InputSourcePtr input,
                                    const GetOptimizer& get_optimizer, const Location& where) {
  BELFRY_CHECK(static_cast<bool>(model), "[setup_graph] expected a model, got none (at {}).", to_string(where));
  TowerFunc::Function stand_in;
  if (model->maker())
    stand_in = [model, other = std::shared_ptr<ModelDesc>()](const Inputs& in) mutable {
      if (!other) other = model->maker()();
      return Tensors{other->build_graph(in)};
    };
  TowerFunc tower_func([model](const Inputs& in) { return model->build_graph(in); }, model->inputs(),
                       {.check_tower_rules = check_tower_rules, .stand_in = std::move(stand_in)});
  const GetOptimizer own = [model] { return model->optimizer(); };
  set_up(std::move(tower_func), std::move(input), get_optimizer ? get_optimizer : own, where);
}

void SingleCostTrainer::set_up(TowerFunc tower_func, InputSourcePtr input, const GetOptimizer& get_optimizer,
                               const Location& where) {
  BELFRY_CHECK(!optimizer_,
               "[setup_graph] expected to be called once, got a second call (at {}). Make another trainer.",
               to_string(where));
  BELFRY_CHECK(tower_func && get_optimizer != nullptr && input,
               "[setup_graph] expected an input, a cost function and an optimizer, got an empty one (at {}).",
               to_string(where));
  const GraphScope scope(graph());
  GraphTransaction transaction(graph());
  where_ = where;
  std::unique_ptr<Optimizer> optimizer = get_optimizer();
  BELFRY_CHECK(optimizer != nullptr, "[setup_graph] expected an optimizer, got none (at {}).", to_string(where));
  if (require_gradients) optimizer = std::make_unique<GradientsRequired>(std::move(optimizer), where);
  const std::vector<TensorSpec> signature = tower_func.signature();
  set_tower_func(std::move(tower_func));
  const std::size_t registered = callbacks().size();
  costs_.clear();
  bad_costs_ = std::make_shared<BadCosts>(on_bad_cost);
  try {
    register_callbacks(input->setup(signature, where));
    build(*input, *optimizer);
    register_callback(CostGuard({{.costs = costs_of_step()}}, bad_costs_, where));
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
  BELFRY_CHECK(static_cast<bool>(cost) && cost.rank() == 0 && is_float(cost.dtype()),
               "[setup_graph] expected a tower function that returns a scalar float as its cost, got {} (at {}). "
               "Reduce it first, with reduce_mean() say.",
               cost ? to_string(cost) : "an empty tensor", to_string(where_));
  costs_.push_back(cost);
  return cost;
}

std::optional<std::int64_t> SingleCostTrainer::default_steps_per_epoch() const {
  return input_ ? input_->size() : std::nullopt;
}

}  // namespace belfry
