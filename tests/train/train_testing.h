// What the tests of trainers share: small data, the weights that a training leaves, and how two of them compare.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/sources/list.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/train/trainers.h"
#include "tests/support/rounding.h"

namespace belfry {

inline const std::vector<TensorSpec> kSignature{{"x", f32, {kAny, 6}}, {"label", i32, {kAny}}};

// Two classes; numbers that do not repeat soon.
inline Flow points(int count) {
  std::vector<DataPoint> out;
  for (int i = 0; i < count; ++i) {
    Array x = Array::zeros(f32, {6});
    for (int k = 0; k < 6; ++k) x.set_item(k, static_cast<float>((i * 7 + k * 5) % 13) / 13.f - 0.5f);
    out.push_back({x, Array(static_cast<std::int32_t>((i * 3 + i / 4) % 2))});
  }
  return from_list(std::move(out));
}

// Batches of these sizes.
inline std::vector<DataPoint> batches_of(const std::vector<std::int64_t>& sizes) {
  std::vector<DataPoint> out;
  for (const std::int64_t n : sizes) {
    DataPoint point{Array(f32, {n, 6}), Array(i32, {n})};
    const auto seed = static_cast<std::int64_t>(out.size());
    for (std::int64_t i = 0; i < n * 6; ++i)
      point[0].set_item(i, static_cast<double>((i * 5 + seed * 11) % 17) / 17.0 - 0.4);
    for (std::int64_t i = 0; i < n; ++i) point[1].set_item(i, static_cast<double>((i + seed) % 2));
    out.push_back(std::move(point));
  }
  return out;
}

inline std::unique_ptr<Optimizer> make_momentum() { return momentum({.learning_rate = 0.1f, .momentum = 0.9}); }

struct Trained {
  std::map<std::string, Array> weights;  // and what else belongs to the model
  std::string reason;
};

inline Trained weights_of(const Graph& graph, Session& session) {
  Trained out;
  for (const std::string_view kept : {collection::kTrainableVariables, collection::kModelVariables})
    for (const Variable& v : graph.collections().variables(kept)) out.weights.emplace(v.name(), session.value(v));
  return out;
}

// What is trained, on what, and for how long.
struct Training {
  InputSourcePtr input;
  GetCost cost;
  std::int64_t steps = 20;
  GetOptimizer optimizer = make_momentum;
  Callbacks callbacks{};
  std::size_t devices = 2;  // of the session, with a thread each
};

// Calls `look` when the epoch's last step is done, before anything that belongs to the epoch's end.
inline Handle<Callback> after_last_step(std::function<void(Trainer&)> look) {
  return CallbackFactory({.trigger_step = [look = std::move(look)](Trainer& trainer) {
    if (trainer.local_step() == trainer.steps_per_epoch() - 1) look(trainer);
  }});
}

// How many variables of towers beyond the first have the bits of the first tower's; the others are failures. To be
// asked before the end of an epoch, which makes them equal.
inline int count_equal_copies(Trainer& trainer) {
  int out = 0;
  for (const Variable& v : trainer.graph().variables()) {
    if (!v.name().starts_with("tower")) continue;
    const Variable original = trainer.graph().get_variable_by_name(v.name().substr(v.name().find('/') + 1));
    const bool same = equal(trainer.session().value(v), trainer.session().value(original));
    EXPECT_TRUE(same) << v.name();
    out += same ? 1 : 0;
  }
  return out;
}

// One epoch; `args` make the trainer.
template <class T, class... Args>
Trained train(const Training& training, Args&&... args) {
  Graph graph;
  const GraphScope scope(graph);
  T trainer(std::forward<Args>(args)...);
  trainer.setup_graph(kSignature, training.input, training.cost, training.optimizer);
  const std::string reason =
      trainer.train({.callbacks = training.callbacks,
                     .session_config = {.devices = std::vector<DeviceConfig>(training.devices, {1})},
                     .steps_per_epoch = training.steps,
                     .max_epoch = 1});
  Trained out = weights_of(graph, trainer.session());
  out.reason = reason;
  return out;
}

inline double largest_of(const Array& value) {
  double out = 0;
  for (std::int64_t i = 0; i < value.elements(); ++i) out = std::max(out, std::abs(value.item(i)));
  return out;
}

// Two trainings that differ only in the order of their sums. In each step a number goes through this many roundings on
// its way from the points into a weight; the rate of 0.1 and the momentum of 0.9 make one step's error in a gradient
// one as large in the weights, where the steps' errors add up. A gradient is a sum of terms that are around 1 in all,
// so an element's error has the size of 1 and of the largest weight beside it, however small the element itself is.
inline void expect_close(const Trained& a, const Trained& b, double roundings_a_step, std::int64_t steps = 20) {
  for (const auto& [name, value] : a.weights) {
    if (name.starts_with("tower")) continue;
    const Array& other = b.weights.at(name);
    ASSERT_EQ(value.shape(), other.shape());
    const double bound =
        likely_rounding_bound(2 * static_cast<double>(steps) * roundings_a_step, 1 + largest_of(value));
    for (std::int64_t i = 0; i < value.elements(); ++i)
      EXPECT_NEAR(value.item(i), other.item(i), bound) << name << " " << i;
  }
}

inline void expect_far(const Trained& a, const Trained& b, double least) {
  double most = 0;
  for (const auto& [name, value] : a.weights)
    for (std::int64_t i = 0; i < value.elements() && !name.starts_with("tower"); ++i)
      most = std::max(most, std::abs(value.item(i) - b.weights.at(name).item(i)));
  EXPECT_GT(most, least);
}

inline void expect_same_bits(const Trained& a, const Trained& b) {
  for (const auto& [name, value] : a.weights)
    EXPECT_TRUE(name.starts_with("tower") || equal(value, b.weights.at(name))) << name;
}

}  // namespace belfry
