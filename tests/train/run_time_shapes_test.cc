// Shapes that are known only in a run, in towers: each step's batches have other sizes, an empty one and one of a
// single point among them, and how many points, ids and places count follows from the data. The reference is the same
// mathematics in shapes that depend only on the batch.
#include "belfry/input/graph_inputs.h"
#include "belfry/nn/accumulate_gradients.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/gather.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/mask.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "belfry/ops/unique.h"
#include "belfry/train/async_trainer.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

const std::vector<std::int64_t> kSizes{2, 5, 0, 4, 7, 2, 1, 6, 4, 3};
constexpr int kIds = 16;
constexpr std::int64_t kSteps = 20;
constexpr double kRoundings = 80;

std::vector<DataPoint> batches() { return batches_of(kSizes); }

// What counts of a batch: the mean of some points' losses, the rows of a table that occur, and places that are
// positive.
struct Counted {
  Tensor losses, rows, places;  // sums
  Tensor points;                // how many, at least 1
};
Tensor at_least_1(const Tensor& n) { return cast(maximum(n, 1), f32); }

Counted picked(const Tensor& losses, const Tensor& mask, const Tensor& ids, const Tensor& table, const Tensor& x,
               const Tensor& w) {
  const Tensor kept = boolean_mask(losses, mask, {}, "kept");
  const Tensor columns = squeeze(slice(nonzero(x > 0.f), {0, 1}, {kAny, 1}), {1});
  return {.losses = reduce_sum(kept),
          .rows = reduce_sum(square(gather(table, unique(ids)))),
          .places = reduce_sum(gather(w, columns)),
          .points = at_least_1(size_of(kept, 0))};
}
Counted weighted(const Tensor& losses, const Tensor& mask, const Tensor& ids, const Tensor& table, const Tensor& x,
                 const Tensor& w) {
  const Tensor kept = cast(mask, f32), occurs = reduce_max(one_hot(ids, kIds), {.axes = {0}});
  return {.losses = reduce_sum(losses * kept),
          .rows = reduce_sum(square(table) * expand_dims(maximum(occurs, 0.f), 1)),
          .places = reduce_sum(cast(x > 0.f, f32) * w),
          .points = at_least_1(cast(reduce_sum(kept), i64))};
}

GetCost cost_with(decltype(&picked) count) {
  return [count](const Inputs& in) {
    const Tensor x = in["x"], n = size_of(x, 0);
    const auto column = [&](int k) { return reshape(slice(x, {0, k}, {n, 1}), {n}); };
    const Tensor hidden = x | fully_connected("fc0", {.units = 8, .activation = tanh});
    const Tensor pairs = reshape(hidden, {n, 4, kAny}) + tile(zeros({1, size_of(hidden, 1) / 2, 2}), {n, 1, 1});
    const Tensor losses = sparse_softmax_cross_entropy(
        reshape(pairs, shape_of(hidden)) | fully_connected("fc1", {.units = 2}), in["label"]);
    const Variable table = get_variable("table", {.shape = {kIds, 3}}), w = get_variable("w", {.shape = {6}});
    const Counted c = count(losses, column(0) > 0.f, cast(column(1) * 8.f + 8.f, i32), table.value(), x, w.value());
    return add(c.losses / c.points, c.rows * 0.1f + c.places / at_least_1(n), "cost");
  };
}

std::unique_ptr<Optimizer> plain_sgd() { return sgd({.learning_rate = 0.1f}); }
Training masked() {
  return {
      .input = QueueInput(from_list(batches())), .cost = cost_with(picked), .steps = kSteps, .optimizer = plain_sgd};
}
// One device, which takes the towers' points one after the other.
Trained reference(int towers) {
  return train<SimpleTrainer>({.input = QueueInput(from_list(batches())),
                               .cost = cost_with(weighted),
                               .steps = kSteps * towers,
                               .optimizer = [towers] { return accumulate_gradients(plain_sgd(), towers); },
                               .devices = 1});
}

TEST(RunTimeShapesTest, OneTowerLearnsWhatItLearnsInFixedShapes) {
  expect_close(reference(1), train<SimpleTrainer>(masked()), kRoundings);
}

TEST(RunTimeShapesTest, TowersLearnWhatOneDeviceLearns) {
  const Trained wanted = reference(2);
  const Trained ps = train<SyncMultiDeviceTrainerParameterServer>(masked(), cpu_devices(2));
  const Trained replicated = train<SyncMultiDeviceTrainerReplicated>(masked(), cpu_devices(2));
  expect_close(wanted, ps, kRoundings, 2 * kSteps);
  expect_close(wanted, replicated, kRoundings, 2 * kSteps);
  expect_far(wanted, reference(1), 1e-3);
}

TEST(RunTimeShapesTest, CopiesOfTheVariablesStayEqual) {
  Training training = masked();
  int equal_copies = 0;
  training.callbacks = {after_last_step([&](Trainer& trainer) { equal_copies = count_equal_copies(trainer); })};
  train<SyncMultiDeviceTrainerReplicated>(training, cpu_devices(2));
  EXPECT_GE(equal_copies, 6);
}

TEST(RunTimeShapesTest, StagedBatchesGiveTheSameBits) {
  const auto staged = [] {
    Training out = masked();
    out.input = StagingInput(out.input);
    return out;
  };
  expect_same_bits(train<SyncMultiDeviceTrainerReplicated>(masked(), cpu_devices(2)),
                   train<SyncMultiDeviceTrainerReplicated>(staged(), cpu_devices(2)));
  expect_same_bits(train<SyncMultiDeviceTrainerParameterServer>(masked(), cpu_devices(2)),
                   train<SyncMultiDeviceTrainerParameterServer>(staged(), cpu_devices(2)));
}

// Fetches what a tower has kept along with every second step.
class WatchKept final : public Callback {
 public:
  explicit WatchKept(std::vector<std::int64_t>& kept) : kept_(kept) {}
  HookRequest before_run(const RunContext&) override {
    if (++step_ % 2 == 0) return {};
    return {.fetches = {"kept", "tower1/kept"}};
  }
  void after_run(const RunContext&, const RunValues& values) override {
    for (const Array& value : values) kept_.push_back(value.elements());
  }

 private:
  std::vector<std::int64_t>& kept_;
  int step_ = 0;
};

TEST(RunTimeShapesTest, FetchesOfHooksAreOfTheSameRunAndChangeNoBit) {
  std::vector<std::int64_t> kept, wanted;
  Training watched = masked();
  watched.callbacks = {WatchKept(kept)};
  expect_same_bits(train<SyncMultiDeviceTrainerParameterServer>(masked(), cpu_devices(2)),
                   train<SyncMultiDeviceTrainerParameterServer>(watched, cpu_devices(2)));
  const std::vector<DataPoint> all = batches();
  for (std::size_t step = 0; step < static_cast<std::size_t>(kSteps); step += 2)
    for (std::size_t tower = 0; tower < 2; ++tower) {
      const Array& x = all[(2 * step + tower) % all.size()][0];
      wanted.push_back(0);
      for (std::int64_t row = 0; row < x.shape()[0]; ++row) wanted.back() += x.item(row * 6) > 0;
    }
  EXPECT_EQ(kept, wanted);
}

// However many rows a batch has, those that count add up to (1, 2, 3, 4, 5, 6), and so does the gradient of w. So
// where towers are when training ends is all in the number of updates.
std::vector<DataPoint> equal_sums() {
  std::vector<DataPoint> out;
  for (const std::int64_t n : {4, 1, 3, 8, 2}) {
    DataPoint point{Array(f32, {2 * n, 6}), Array::zeros(i32, {2 * n})};
    for (std::int64_t row = 0; row < 2 * n; ++row)
      for (std::int64_t k = 0; k < 6; ++k)
        point[0].set_item(row * 6 + k, row % 2 == 1 ? -1 : row > 0 ? 1 : static_cast<double>(k + 1 - (n - 1)));
    // The first row counts though its first number may be negative: its label says so.
    for (std::int64_t row = 0; row < 2 * n; row += 2) point[1].set_item(row, 1);
    out.push_back(std::move(point));
  }
  return out;
}

TEST(RunTimeShapesTest, NoUpdateOfAnAsynchronousTowerIsLost) {
  Graph graph;
  const GraphScope scope(graph);
  AsyncMultiDeviceTrainer trainer(cpu_devices(2));
  trainer.setup_graph(
      kSignature, QueueInput(from_list(equal_sums())),
      [](const Inputs& in) {
        const Variable w = get_variable("w", {.shape = {6}, .initializer = init::zeros()});
        const Tensor kept = boolean_mask(in["x"], in["label"] > 0);
        const Tensor padded = pad(kept, {{0, size_of(in["x"], 0) - size_of(kept, 0)}, {0, 0}});
        return reduce_sum(padded * w.value());
      },
      [] { return sgd({.learning_rate = 0.125f}); });
  trainer.train({.session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 200, .max_epoch = 1});
  const auto updates = static_cast<double>(trainer.async_updates());
  EXPECT_GE(updates, 200);
  const Array w = trainer.session().value(graph.get_variable_by_name("w"));
  for (std::int64_t k = 0; k < 6; ++k)
    EXPECT_EQ(w.item(k), -0.0625 * static_cast<double>(k + 1) * updates) << k << " after " << updates;
}

}  // namespace
}  // namespace belfry
