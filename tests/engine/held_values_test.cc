// What one part of a device leaves to later ones lies in the device's arena, planned across its parts.
#include <fmt/format.h>

#include "belfry/engine/program.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/session/session.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

constexpr std::int64_t kSide = 64;
constexpr std::size_t kBytes = kSide * kSide * 4;

// A number goes to the other device and back in every step, so that each step is a separate part, and its large value
// goes from part to part of device 0.
Tensors relay(const Tensor& start, int steps, const char* other = "cpu:1") {
  Tensors out{start};
  for (int i = 0; i < steps; ++i) {
    const Tensor sum = reduce_mean(out.back());
    Tensor far;
    {
      const DeviceScope device(other);
      far = tanh(sum);
    }
    out.push_back(matmul(out.back(), out.back()) * far);
  }
  return out;
}

class HeldValuesTest : public IrTest {
 protected:
  MemoryUse memory_of(const Tensors& fetches) {
    Program program({.fetches = fetches, .targets = {}, .feeds = {}, .fed = {}}, on.target);
    return program.plan({})->memory();
  }

  CpuTarget on{2};
};

TEST_F(HeldValuesTest, AChainOfPartsNeedsNoMoreTheLongerItIs) {
  const Tensors values = relay(tanh(var("x", {kSide, kSide}, 0.01f)), 12);
  const MemoryUse three = memory_of({values[3]}), twelve = memory_of({values[12]});
  EXPECT_GE(three.arenas[0], 2 * kBytes);
  EXPECT_EQ(twelve.arenas[0], three.arenas[0]);
  EXPECT_LT(twelve.crossings, 12u * 64) << "only the numbers leave their device";
}

TEST_F(HeldValuesTest, WhatIsReadAtTheEndIsKeptUntilThen) {
  const Tensors values = relay(tanh(var("x", {kSide, kSide}, 0.01f)), 4);
  Tensor sum = values[4];
  for (int i = 3; i >= 0; --i) sum = matmul(sum, values[static_cast<std::size_t>(i)]);
  EXPECT_GE(memory_of({sum}).arenas[0], 5 * kBytes);
}

// Values of different lengths of life: what an earlier part left must not be overwritten while a later one needs it.
std::vector<Array> mixed_values(int devices) {
  Graph graph;
  const GraphScope scope(graph);
  const Tensor x = get_variable("x", {.shape = {kSide, kSide}});
  const Tensors values = relay(tanh(x), 8, devices == 1 ? "cpu:0" : "cpu:1");
  std::vector<Fetch> fetches;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Tensor t = values[i];
    for (std::size_t k = i % 3; k < i; k += 3) t = t + values[k] * (1.f + static_cast<float>(k));
    fetches.emplace_back(t);
  }
  Session session(graph, {.devices = std::vector<DeviceConfig>(static_cast<std::size_t>(devices), {1})});
  session.initialize();
  return session.run(fetches);
}

TEST_F(HeldValuesTest, ReadersFarApartFindTheSameBitsAsOnOneDevice) {
  const std::vector<Array> one = mixed_values(1), two = mixed_values(2);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(equal(one[i], two[i])) << i;
}

TEST_F(HeldValuesTest, ExplainBreaksTheMemoryDown) {
  const Tensors values = relay(tanh(var("x", {kSide, kSide}, 0.01f)), 3);
  Session session(graph, {.devices = {{1}, {1}}});
  session.initialize();
  const std::string plan = session.explain({values[3]});
  const SessionMemory held = session.memory();
  const auto megabytes = [](std::size_t bytes) { return fmt::format("{:.2f} MB", static_cast<double>(bytes) / 1e6); };
  EXPECT_TRUE(contains(plan, "\nmemory ")) << plan;
  EXPECT_TRUE(contains(plan, "arena " + megabytes(session.arena_bytes()) + " (cpu:0 ")) << plan;
  EXPECT_TRUE(contains(plan, "between devices " + megabytes(held.crossings))) << plan;
  EXPECT_TRUE(contains(plan, "variables " + megabytes(held.variables))) << plan;
  EXPECT_EQ(held.variables, kBytes);
  EXPECT_EQ(session.arena_bytes(), held.arena + held.crossings + held.kernels);
}

}  // namespace
}  // namespace belfry
