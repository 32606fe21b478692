// Random nets in f32, with everything the compiler does to them, against the same nets in f64, which it leaves alone.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "belfry/base/random.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/recompute.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/batch_norm.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/pool.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "belfry/session/session.h"

namespace belfry {
namespace {

Array noise(const Shape& shape, std::uint64_t seed, double scale) {
  RandomStream stream(seed);
  Array out(f32, shape);
  for (float& v : out.values<float>()) v = static_cast<float>(scale * (2 * stream.uniform() - 1));
  return out;
}

class RandomNet {
 public:
  // Recomputed in segments of this many steps, unless 0.
  RandomNet(DType dtype, std::uint64_t seed, int devices, int segment = 0)
      : dtype_(dtype), random_(seed), devices_(devices) {
    const GraphScope scope(graph);
    images_.push_back(input_ = placeholder(dtype, {2 + pick(2), 6, 6, 3}));
    const int count = 4 + pick(9);
    std::optional<RecomputeScope> recomputed;
    for (int i = 0; i < count; ++i) {
      if (segment > 0 && i % segment == 0) {
        recomputed.reset();
        recomputed.emplace();
      }
      add();
    }
    recomputed.reset();
    Tensor x = images_.back();
    fetches.push_back(x);
    x = pick(2) == 0 ? reduce_mean(x, {.axes = {1, 2}}) : batch_flatten(x);
    x = matmul(x, weight({x.shape()[1], 7})) + weight({7});
    if (pick(2) == 0) x = relu(x);
    fetches.push_back(x);
    const Tensor loss = reduce_mean(square(log_softmax(x))) + reduce_sum(square(image())) * 0.01f;
    fetches.push_back(loss);
    const std::vector<Variable> variables = graph.variables();
    const Tensors g = gradients(loss, variables);
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (!g[i]) continue;
      if (pick(3) == 0) fetches.push_back(g[i]);
      targets.emplace_back(apply_momentum(variables[i],
                                          new_variable("slot", {.shape = variables[i].shape(), .dtype = dtype_}), 0.05f,
                                          g[i], {.momentum = 0.9, .nesterov = pick(2) == 0, .weight_decay = 0.01}));
    }
    for (int i = 0; i < 2; ++i) fetches.push_back(image());
  }

  // The last step's fetches and the variables after it; `everything`: all fetches, else none.
  std::vector<Array> train(int threads, bool everything = true) {
    Session session(graph,
                    {.devices = std::vector<DeviceConfig>(static_cast<std::size_t>(devices_), DeviceConfig{threads})});
    session.initialize();
    std::vector<Fetch> all(targets.begin(), targets.end());
    if (everything) all.insert(all.end(), fetches.begin(), fetches.end());
    std::vector<Array> out;
    for (std::uint64_t step = 0; step < 2; ++step)
      out = session.run(all, {{input_, noise(input_.shape(), 100 + step, 1).cast(dtype_)}});
    out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(targets.size()));
    for (const Variable& v : graph.variables()) out.push_back(session.value(v));
    return out;
  }

  Graph graph;
  Tensors fetches;
  std::vector<Operation> targets;

 private:
  int pick(int n) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(n))); }
  Tensor image() { return images_[static_cast<std::size_t>(pick(static_cast<int>(images_.size())))]; }
  Tensor recent() {
    return images_[images_.size() - 1 -
                   static_cast<std::size_t>(pick(std::min<int>(3, static_cast<int>(images_.size()))))];
  }

  Tensor weight(const Shape& shape) {
    const std::string name = "v" + std::to_string(graph.variables().size());
    std::int64_t fan_in = 1;
    for (int i = 0; i + 1 < shape.rank(); ++i) fan_in *= shape[i];
    const double scale = shape.rank() == 1 ? 0.5 : std::sqrt(3.0 / static_cast<double>(fan_in));
    return get_variable(name, {.shape = shape, .dtype = dtype_, .initializer = [&](const Shape& s, DType d) {
                                 return constant(noise(s, seed_of(name), scale).cast(d));
                               }});
  }

  Tensor conv(const Tensor& x) {
    constexpr std::int64_t kChannels[] = {3, 8, 16, 20, 32};
    const std::int64_t size = 1 + 2 * pick(2), channels = kChannels[pick(5)];
    return conv2d(x, weight({size, size, x.shape()[3], channels}), {.strides = 1 + (x.shape()[1] > 3 ? pick(2) : 0)});
  }

  void add() {
    const DeviceScope device("cpu:" + std::to_string(pick(devices_)));
    Tensor x = recent();
    const std::int64_t channels = x.shape()[3];
    switch (pick(11)) {
      case 0: x = relu(conv(x)); break;
      case 1:
        x = conv(x);
        x = x + weight({x.shape()[3]});
        break;
      case 2:
        x = conv(x);
        x = relu(x + weight({x.shape()[3]}));
        break;
      case 3:
        x = conv(x);
        x = relu(norm(x));
        break;
      case 4: {
        const Tensor y = norm(conv2d(x, weight({3, 3, channels, channels})));
        x = relu(pick(2) == 0 ? y + x : x + y);
        break;
      }
      case 5:
        x = x.shape()[1] >= 2 ? max_pool2d(pick(2) == 0 ? relu(x) : x, {.window = 2, .strides = 1 + pick(2)}) : x;
        break;
      case 6: x = avg_pool2d(x, {.window = 3, .strides = 1, .padding = Padding::same}); break;
      case 7: x = tanh(x) * 1.5f + sigmoid(x); break;
      case 8: x = x * weight({channels}) - 0.25f; break;
      case 9: x = concat({x, exp(x * 0.1f)}, 3); break;
      default: {
        const Tensor y = image();
        x = y.shape() == x.shape() ? maximum(x, y) * 0.7f : transpose(transpose(x, {0, 3, 1, 2}), {0, 2, 3, 1}) / 1.3f;
      }
    }
    if (x.shape()[3] <= 64) images_.push_back(x);
  }

  Tensor norm(const Tensor& x) { return batch_norm(x, weight({x.shape()[3]}), weight({x.shape()[3]})).y; }

  DType dtype_;
  RandomStream random_;
  int devices_;
  Tensor input_;
  Tensors images_;
};

// |a - b| / |b|, or |a - b| where b is next to nothing.
double distance(const Array& a, const Array& b) {
  double difference = 0, size = 0;
  for (std::int64_t i = 0; i < b.elements(); ++i) {
    difference += (a.item(i) - b.item(i)) * (a.item(i) - b.item(i));
    size += b.item(i) * b.item(i);
  }
  return std::sqrt(difference) / std::max(std::sqrt(size), 1e-3);
}

TEST(RandomNets, ComputeInF32WhatTheyDoInF64) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int devices = 1 + static_cast<int>(seed % 2);
    RandomNet fast(f32, seed, devices), exact(f64, seed, devices);
    const std::vector<Array> got = fast.train(1), wanted = exact.train(1);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].shape(), wanted[i].shape());
      ASSERT_LT(distance(got[i], wanted[i]), 5e-3)
          << "result " << i << (i < fast.fetches.size() ? " " + fast.fetches[i].name() : "");
    }
  }
}

TEST(RandomNets, TrainToTheSameBitsWhateverIsFetched) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet net(f32, seed, 1);
    const std::vector<Array> alone = net.train(1, false), watched = net.train(1, true);
    for (std::size_t i = 0; i < alone.size(); ++i)
      ASSERT_TRUE(equal(alone[i], watched[i + watched.size() - alone.size()]))
          << "variable " << net.graph.variables()[i].name();
  }
}

TEST(RandomNets, TrainToTheSameBitsWhenTheyAreRecomputed) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int devices = 1 + static_cast<int>(seed % 4 == 3),
              threads = devices == 1 ? 1 + static_cast<int>(seed % 2) : 1;
    RandomNet recomputed(f32, seed, devices, 1 + static_cast<int>(seed % 5)), kept(f32, seed, devices);
    const bool everything = seed % 3 != 0;
    const std::vector<Array> got = recomputed.train(threads, everything), wanted = kept.train(threads, everything);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(equal(got[i], wanted[i])) << "result " << i;
  }
}

}  // namespace
}  // namespace belfry
