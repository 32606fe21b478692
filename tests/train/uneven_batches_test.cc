// Batches of different sizes, in the towers of one step and from step to step, with and without batch norm across
// towers. The reference is one tower that has the points of all, each example weighted as the average of the towers'
// means weights it.
#include "belfry/nn/layers.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "belfry/tower/tower_context.h"
#include "tests/support/errors.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

const std::vector<std::int64_t> kSizes{2, 5, 3, 4, 7, 2, 1, 6, 4, 4};

std::vector<DataPoint> uneven_points() { return batches_of(kSizes); }
constexpr std::int64_t kSteps = 20;

Tensor plain_logits(const Tensor& x) {
  return x | fully_connected("fc0", {.units = 8, .activation = tanh}) | fully_connected("fc1", {.units = 2});
}

// Images, so that the blocked layouts of convolutions are there too; 6 channels do not fill a block.
Tensor normalised_logits(const Tensor& x) {
  const auto conv = conv2d({.filters = 6, .kernel = 3, .use_bias = false, .activation = {}});
  const auto norm = batch_norm({.sync_statistics = true, .activation = relu});
  return reshape(x, {kAny, 2, 3, 1}) | conv("conv0") | norm("bn0") | conv("conv1") | norm("bn1") |
         fully_connected("fc", {.units = 2});
}

// Roundings a step, two a term of each sum that a number goes through, forward and backward: of 6 and 8 numbers, and
// over up to 12 points; tanh, softmax and the update are a dozen more.
constexpr double kPlainRoundings = 80;
// Sums over 9 and 54 numbers of convolutions, four over 12 points of 6 pixels for each batch norm, over 36 and 12.
constexpr double kNormalisedRoundings = 2000;

using Logits = Tensor (*)(const Tensor& x);

GetCost mean_cost(Logits logits) {
  return [logits](const Inputs& in) {
    return reduce_mean(sparse_softmax_cross_entropy(logits(in["x"]), in["label"]), "cost");
  };
}

// One after the other, along the first axis.
Array joined(const std::vector<Array>& parts) {
  std::int64_t rows = 0, at = 0;
  for (const Array& part : parts) rows += part.shape()[0];
  const bool vectors = parts[0].shape().rank() == 1;
  Array out(parts[0].dtype(), vectors ? Shape{rows} : Shape{rows, parts[0].shape()[1]});
  for (const Array& part : parts)
    for (std::int64_t i = 0; i < part.elements(); ++i) out.set_item(at++, part.item(i));
  return out;
}

// Steps on `towers` points at a time. Without `by_tower` every example weighs the same, which is not what towers do.
Trained reference(Logits logits, std::size_t towers, bool by_tower = true) {
  Graph graph;
  const GraphScope scope(graph);
  const Tensor x = placeholder(f32, {kAny, 6}), label = placeholder(i32, {kAny}), weight = placeholder(f32, {kAny});
  Operation step;
  {
    const TrainTowerContext tower("");
    const Tensor cost = reduce_sum(sparse_softmax_cross_entropy(logits(x), label) * weight);
    step = make_momentum()->minimize(cost);
  }
  Session session(graph);
  session.initialize();
  const std::vector<DataPoint> all = uneven_points();
  for (std::size_t s = 0; s < static_cast<std::size_t>(kSteps); ++s) {
    std::vector<Array> xs, labels, weights;
    for (std::size_t t = 0; t < towers; ++t) {
      const DataPoint& point = all[(s * towers + t) % all.size()];
      const std::int64_t n = point[0].shape()[0];
      xs.push_back(point[0]);
      labels.push_back(point[1]);
      weights.push_back(Array::full(f32, {n}, 1.0 / static_cast<double>(n * static_cast<std::int64_t>(towers))));
    }
    const std::int64_t rows = joined(xs).shape()[0];
    if (!by_tower) weights = {Array::full(f32, {rows}, 1.0 / static_cast<double>(rows))};
    session.run(step, {{x, joined(xs)}, {label, joined(labels)}, {weight, joined(weights)}});
  }
  return weights_of(graph, session);
}

Training on_queue(Logits logits) {
  return {.input = QueueInput(from_list(uneven_points())), .cost = mean_cost(logits), .steps = kSteps};
}

TEST(UnevenBatchesTest, TowersAverageTheirMeans) {
  const Trained wanted = reference(plain_logits, 2);
  const Trained ps = train<SyncMultiDeviceTrainerParameterServer>(on_queue(plain_logits), cpu_devices(2));
  const Trained replicated = train<SyncMultiDeviceTrainerReplicated>(on_queue(plain_logits), cpu_devices(2));
  expect_close(wanted, ps, kPlainRoundings);
  expect_close(wanted, replicated, kPlainRoundings);
  expect_far(reference(plain_logits, 2, false), ps, 1e-2);
  expect_same_bits(ps, replicated);
}

TEST(UnevenBatchesTest, OneTowerTakesThemAsTheyCome) {
  const Trained wanted = reference(plain_logits, 1);
  expect_close(wanted, train<SimpleTrainer>(on_queue(plain_logits)), kPlainRoundings);
  const Training fed{.input = FeedInput(from_list(uneven_points())), .cost = mean_cost(plain_logits), .steps = kSteps};
  expect_close(wanted, train<SimpleTrainer>(fed), kPlainRoundings);
}

TEST(UnevenBatchesTest, SynchronisedStatisticsWeightTowersByTheirSizes) {
  const Trained wanted = reference(normalised_logits, 2);
  ASSERT_TRUE(wanted.weights.contains("bn1/variance/EMA"));
  const Trained ps = train<SyncMultiDeviceTrainerParameterServer>(on_queue(normalised_logits), cpu_devices(2));
  const Trained replicated = train<SyncMultiDeviceTrainerReplicated>(on_queue(normalised_logits), cpu_devices(2));
  expect_close(wanted, ps, kNormalisedRoundings);
  expect_far(reference(normalised_logits, 2, false), ps, 1e-2);
  expect_same_bits(ps, replicated);
}

}  // namespace
}  // namespace belfry
