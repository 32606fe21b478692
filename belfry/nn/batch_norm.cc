#include "belfry/ops/batch_norm.h"

#include <algorithm>
#include <optional>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/ancestors.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/nn/layers.h"
#include "belfry/nn/replace_variables.h"
#include "belfry/nn/update_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/internal/sync_batch_norm.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

struct BatchNormVariables {
  Tensor gamma, beta;
  Variable mean, variance;
};

Initializer or_else(const Initializer& given, Initializer other) { return given ? given : std::move(other); }

BatchNormVariables make_variables(const BatchNormLayerOptions& o, const Shape& shape, DType dtype) {
  const std::vector<std::string> kept{std::string(collection::kGlobalVariables),
                                      std::string(collection::kModelVariables)};
  BatchNormVariables v;
  v.gamma = o.scale ? Tensor(get_variable("gamma", {.shape = shape,
                                                    .dtype = dtype,
                                                    .initializer = or_else(o.gamma_initializer, init::ones()),
                                                    .regularizer = o.gamma_regularizer}))
                    : constant(Array::full(dtype, shape, 1));
  v.beta = o.center ? Tensor(get_variable("beta", {.shape = shape,
                                                   .dtype = dtype,
                                                   .initializer = or_else(o.beta_initializer, init::zeros()),
                                                   .regularizer = o.beta_regularizer}))
                    : constant(Array::zeros(dtype, shape));
  v.mean = get_variable(
      "mean/EMA",
      {.shape = shape, .dtype = dtype, .initializer = init::zeros(), .trainable = false, .collections = kept});
  v.variance = get_variable(
      "variance/EMA",
      {.shape = shape, .dtype = dtype, .initializer = init::ones(), .trainable = false, .collections = kept});
  return v;
}

// The group in which the layer meets its copies in the other towers; nothing if it normalises by the tower's own batch.
std::optional<CrossTowerGroup> meeting(const BatchNormLayerOptions& o) {
  const TowerContext* tower = current_tower_context_or_null();
  if (!o.sync_statistics || tower == nullptr || !tower->is_training() || tower->total() == 1) return std::nullopt;
  BELFRY_CHECK(!tower->has_own_runs(),
               "{} expected towers that make their steps together for .sync_statistics, got tower '{}', whose steps "
               "are separate {}. Use a synchronous trainer, or omit .sync_statistics.",
               layer_title("batch_norm"), tower->name(), layer_line());
  const std::string scope = current_name_scope();
  const std::size_t prefix = tower->name_scope().empty() ? 0 : tower->name_scope().size() + 1;
  return CrossTowerGroup{
      .layer = "batch_norm", .name = scope.substr(prefix), .tower = tower->index(), .total = tower->total()};
}

// How many values each channel has in this step.
Tensor values_a_channel(const Tensor& x, int axis) {
  Ints others;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) others.push_back(i);
  return add_tensor(find_op("ReducedCount"), {x}, {.attributes = {{"axes", others}}});
}

// ema * momentum + batch * (1 - momentum). A layer that is used again, under reuse, has moved its average already: this
// update comes after that one and continues from its result.
Operation move_average(const Variable& average, const Tensor& batch, double momentum) {
  const auto moves = [&](const Node& node) { return assigns(node, average.node()); };
  // Only nodes made after the average can move it. For a new layer there are none, however many updates the graph has.
  const auto younger = average.node()->graph->nodes().subspan(static_cast<std::size_t>(average.node()->id));
  std::vector<Operation> earlier;
  if (std::ranges::any_of(younger, [&](const auto& node) { return moves(*node); })) {
    earlier = update_ops(current_graph());
    std::erase_if(earlier, [&](const Operation& update) { return !moves(*update.node()); });
  }
  const ControlDependencies after(earlier);
  return average.assign(average * momentum + batch * (1 - momentum));
}

// Once per step: the main training tower's statistics are the model's.
std::vector<Operation> move_averages(const BatchNormLayerOptions& o, const BatchNormVariables& v,
                                     const SyncBatchNormResult& batch) {
  const Tensor& n = batch.count;
  const Tensor unbiased = batch.variance * (n / maximum(n - 1.f, 1.f));
  return {move_average(v.mean, batch.mean, o.momentum), move_average(v.variance, unbiased, o.momentum)};
}

bool moves_averages(const BatchNormLayerOptions& o) {
  const TowerContext* tower = current_tower_context_or_null();
  return o.ema_update != EmaUpdate::skip && frozen_batch_statistics() == BatchStatistics::move &&
         (tower == nullptr || tower->is_main_training_tower());
}

SyncBatchNormResult normalise(const BatchNormLayerOptions& o, const BatchNormVariables& v, const Tensor& x,
                              const BatchNormOptions& op, std::string_view name) {
  if (const std::optional<CrossTowerGroup> towers = meeting(o))
    return sync_batch_norm(x, v.gamma, v.beta, op, *towers);  // the layer names its output
  const BatchNormResult batch = batch_norm(x, v.gamma, v.beta, op, name);
  return {batch.y, batch.mean, batch.variance, moves_averages(o) ? values_a_channel(x, op.axis) : Tensor()};
}

bool normalises_by_batch(const BatchNormLayerOptions& o) {
  if (o.training.has_value()) return *o.training;
  return layer_trains("batch_norm") && frozen_batch_statistics() != BatchStatistics::stored;
}

Tensor apply(const BatchNormLayerOptions& o, const Tensor& x) {
  check_float("batch_norm", x, "a float batch");
  BELFRY_CHECK(
      o.momentum >= 0 && o.momentum <= 1,
      "{} expected .momentum in [0, 1], got {} {}. It is the fraction of the old average that stays: 0.9 is usual.",
      layer_title("batch_norm"), o.momentum, layer_line());
  BELFRY_CHECK(x.rank() >= 2,
               "{} expected a batch of rank 2 or more, got '{}' {} {}. Use expand_dims() to make a batch of it.",
               layer_title("batch_norm"), x.name(), to_string(x.shape()), layer_line());
  const int axis = channel_axis(o.data_format, x.rank());
  const BatchNormVariables v = make_variables(o, {known_size("batch_norm", x, axis, "channels")}, x.dtype());
  const BatchNormOptions op{.epsilon = o.epsilon, .axis = axis};
  const std::string_view last = o.activation ? "" : "output";
  Tensor y;
  if (normalises_by_batch(o)) {
    const bool moves = moves_averages(o), inside = moves && o.ema_update == EmaUpdate::internal;
    const SyncBatchNormResult batch = normalise(o, v, x, op, inside ? "" : last);
    y = batch.y;
    if (moves) {
      const std::vector<Operation> updates = move_averages(o, v, batch);
      if (inside) {
        const ControlDependencies after(updates);
        y = identity(y, last);
      } else {
        for (const Operation& update : updates) current_graph().collections().add(collection::kUpdateOps, update);
      }
    }
  } else {
    y = batch_norm_inference(x, {.gamma = v.gamma, .beta = v.beta, .mean = v.mean, .variance = v.variance}, op, last);
  }
  return o.activation ? o.activation(y, "output") : y;
}

}  // namespace

Layer make_layer(std::string_view name, const BatchNormLayerOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

}  // namespace belfry
