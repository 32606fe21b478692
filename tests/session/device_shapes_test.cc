// Shapes that are known only in a run, with several devices: sizes that follow from shapes elsewhere, and cuts where
// they follow from data.
#include <random>

#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/mask.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/strided_slice.h"
#include "belfry/ops/unique.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

using testing_support::GraphTest;

constexpr std::int64_t kBatches[] = {3, 1, 0, 6, 3};

Array rows(std::int64_t n) {
  Array out(f32, {n, 2});
  for (std::int64_t i = 0; i < 2 * n; ++i) out.set_item(i, static_cast<double>(i * 7 % 5) - 1.5);
  return out;
}

class DeviceShapesTest : public GraphTest {
 protected:
  template <class Make>
  static auto on(int device, Make make) {
    const DeviceScope scope("cpu:" + std::to_string(device));
    return make();
  }
  Tensor x = placeholder({"x", f32, {kAny, 2}});
  Session session{graph, {.devices = {{1}, {1}}}};
};

TEST_F(DeviceShapesTest, ASizeMayHaveComeAsAValueBeforeAShapeIsMadeOfIt) {
  const Tensor n = size_of(tanh(x), 0) * 2;
  const Tensor value = on(1, [&] { return cast(n, f32) + 1.f; });
  const Tensor shape = on(1, [&] { return fill({n, 3}, 2) * value; });
  for (std::int64_t b : kBatches) {
    const std::vector<Array> got = session.run({value, shape}, {{x, rows(b)}});
    EXPECT_EQ(got[0].item(), 2 * b + 1);
    ASSERT_EQ(to_string(got[1].shape()), to_string(Shape{2 * b, 3}));
    for (std::int64_t i = 0; i < got[1].elements(); ++i) EXPECT_EQ(got[1].item(i), 2 * (2 * b + 1));
  }
}

TEST_F(DeviceShapesTest, ASizeOfOneDeviceMakesAShapeOnAnother) {
  const Tensor sizes = on(1, [&] { return shape_of(tanh(x)) + 1; });
  const Tensor padded = pad(x, {{0, 1}, {0, 1}}) + ones(sizes);
  const Tensor back = on(1, [&] { return reshape(padded, {3, size_of(padded, 0)}); });
  for (std::int64_t b : kBatches)
    EXPECT_EQ(to_string(session.run(back, {{x, rows(b)}}).shape()), to_string(Shape{3, b + 1}));
}

// If a later stage fails, on any device, the session stays usable.
TEST_F(DeviceShapesTest, AnErrorBehindACutLeavesTheSessionUsable) {
  const Tensor at = placeholder(i32, {}, "at");
  const Tensor kept = boolean_mask(x, reduce_sum(x, {.axes = {1}}) > 0.f);
  const Tensor here = slice(kept, {at, 0}, {1, 2}), there = on(1, [&] { return slice(kept * 2.f, {at, 0}, {1, 2}); });
  const auto run = [&](int place) { return session.run({here, there}, {{x, rows(6)}, {at, Array(place)}}); };
  const std::vector<Array> wanted = run(0);
  for (int outside : {7, -1}) {
    const std::string text = error_of<NumericError>([&] { run(outside); });
    EXPECT_NE(text.find("expected a box inside"), std::string::npos) << text;
    const std::vector<Array> got = run(0);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(equal(got[i], wanted[i])) << i;
  }
}

// A model in which sizes go everywhere: each step may be on any device, and the results are always the same bits.
class Everywhere {
 public:
  Everywhere(std::uint32_t seed, unsigned devices) : random_(seed), devices_(devices) {
    const Tensor y = step([&] { return square(x) + 0.25f; });
    const Tensor n = step([&] { return size_of(y, 0); });
    const Tensor twice = step([&] { return n * 2; });
    const Tensor half = step([&] { return floordiv(n + 1, 2); });
    const Tensor scale = step([&] { return cast(twice, f32) * 0.5f; });
    const Tensor wide = step([&] { return tile(y, {1, maximum(half, 1)}); });
    const Tensor filled = step([&] { return fill({n, size_of(wide, 1)}, 3) * scale; });
    const Tensor sum = step([&] { return wide * filled + cast(range(0, size_of(wide, 1)), f32); });
    const Tensor mask = step([&] { return reduce_sum(x, {.axes = {1}}) > 0.f; });
    const Tensor kept = step([&] { return boolean_mask(sum, mask); });
    const Tensor count = step([&] { return size_of(kept, 0); });
    const Tensor places = step([&] { return nonzero(mask); });
    const Tensor ids = step([&] { return unique(cast(reshape(places, {kAny}), i32)); });
    const Tensor noise = step([&] { return random_normal({count, size_of(kept, 1)}, {.seed = 5}); });
    const Tensor mixed = step([&] { return kept * noise + cast(count + twice, f32); });
    const Tensor part = step([&] { return strided_slice(mixed, {{.end = count - floordiv(count, 2)}}); });
    const Tensor cost = step([&] { return reduce_sum(square(part)) + reduce_sum(cast(ids, f32)) * scale; });
    const Tensor grad = step([&] { return gradients({cost}, {x})[0]; });
    fetches_ = {kept, places, ids, mixed, part, cost, grad};
  }

  std::vector<Array> run(std::int64_t batch) { return session_.run(fetches_, {{x, rows(batch)}}, {.random_step = 3}); }

 private:
  template <class Make>
  Tensor step(Make make) {
    const DeviceScope scope("cpu:" + std::to_string(random_() % devices_));
    return make();
  }

  std::mt19937 random_;
  unsigned devices_;
  Graph graph_;
  GraphScope scope_{graph_};
  Tensor x = placeholder({"x", f32, {kAny, 2}});
  Session session_{graph_, {.devices = std::vector<DeviceConfig>(devices_, {1})}};
  std::vector<Fetch> fetches_;
};

TEST(ShapesEverywhereTest, PlacingStepsOnOtherDevicesChangesNothing) {
  std::vector<std::vector<Array>> wanted;
  for (Everywhere one(0, 1); std::int64_t b : kBatches) wanted.push_back(one.run(b));
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    Everywhere three(seed, 3);
    for (std::size_t k = 0; k < std::size(kBatches); ++k) {
      const std::vector<Array> got = three.run(kBatches[k]);
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(equal(got[i], wanted[k][i])) << i << " of placement " << seed << " with a batch of " << kBatches[k]
                                                 << ": " << to_string(got[i]) << ", not " << to_string(wanted[k][i]);
    }
  }
}

}  // namespace
}  // namespace belfry
