#include "belfry/ops/array_ops.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

class PartitionTest : public IrTest {
 protected:
  Partition parted(const Request& request, int devices = 2) const {
    return partition(pruned(request, devices), cpu_infos(devices));
  }
  static Tensor on(int device, const std::function<Tensor()>& make) {
    const DeviceScope scope("cpu:" + std::to_string(device));
    return make();
  }
};

TEST_F(PartitionTest, OneDeviceIsOnePart) {
  const Variable v = var("v", {4});
  const Partition p = parted({.fetches = {exp(v) * 2.f}, .targets = {v.assign_add(v.value())}});
  ASSERT_EQ(p.parts.size(), 1u);
  EXPECT_TRUE(p.crossings.empty());
}

TEST_F(PartitionTest, OneDeviceThatIsNotTheFirstIsOnePartThere) {
  const Variable v = var("v", {4});  // made on device 0, which runs nothing for it
  const Partition p = parted({.fetches = {on(1, [&] { return exp(v); })}});
  ASSERT_EQ(p.parts.size(), 1u);
  EXPECT_EQ(p.parts[0].device, 1);
}

TEST_F(PartitionTest, TwoTowersAreTwoPartsAndTheirMeetingAThird) {
  const Tensor x = placeholder({"x", f32, {kAny}}), y = placeholder({"y", f32, {kAny}});
  const Variable v = var("v", {1});
  const Tensor a = reduce_sum(tanh(x * v.value()));
  const Tensor b = on(1, [&] { return reduce_sum(tanh(identity(y) * v.value())); });
  const Partition p = parted({.fetches = {a + b}, .feeds = {{x, {4}}, {y, {8}}}});
  // Feeds are everywhere; a and b cross to where they meet.
  ASSERT_EQ(p.parts.size(), 3u);
  EXPECT_EQ(p.parts[0].device, 0);
  EXPECT_EQ(p.parts[1].device, 1);
  EXPECT_EQ(p.parts[2].device, 0);
  EXPECT_EQ(count_of(p.parts[0].ir, "Tanh"), 1);
  EXPECT_EQ(count_of(p.parts[1].ir, "Tanh"), 1);
  EXPECT_EQ(count_of(p.parts[2].ir, "Add"), 1);
  for (const Part& part : {p.parts[0], p.parts[1]}) EXPECT_EQ(count_of(part.ir, "Variable"), 1);
  ASSERT_EQ(p.crossings.size(), 2u);
  for (const Crossing& c : p.crossings) EXPECT_EQ(c.kind, Crossing::Kind::value);
}

TEST_F(PartitionTest, AShapeCrossesWithoutItsValue) {
  const Tensor x = placeholder({"x", f32, {kAny, 3}});
  const Tensor big = tanh(x);
  const Tensor there = on(1, [&] { return broadcast_like(var("v", {3}).value(), big); });
  const Partition p = parted({.fetches = {there}, .feeds = {{x, {4, 3}}}});
  ASSERT_EQ(p.crossings.size(), 1u);
  EXPECT_EQ(p.crossings[0].kind, Crossing::Kind::shape);
  for (const Part& part : p.parts) EXPECT_EQ(count_of(part.ir, "Send"), 0);
}

TEST_F(PartitionTest, AnEventCrossesForAControlDependency) {
  const Variable v = var("v", {1}), w = var("w", {1});
  const Operation first = v.assign_add(w.value());
  Tensor second;
  {
    const ControlDependencies after({first});
    second = on(1, [&] { return w.read(); });
  }
  const Partition p = parted({.fetches = {second}});
  ASSERT_EQ(p.crossings.size(), 1u);
  EXPECT_EQ(p.crossings[0].kind, Crossing::Kind::event);
  EXPECT_EQ(p.crossings[0].from, 0);
}

TEST_F(PartitionTest, AWriteWaitsForTheReadsOfOtherDevices) {
  const Variable v = var("v", {1});
  const Tensor read = on(1, [&] { return exp(v); });
  const Operation write = v.assign_add(v.value());
  const Partition p = parted({.fetches = {read}, .targets = {write}});
  ASSERT_EQ(p.parts.size(), 2u);
  EXPECT_EQ(p.parts[0].device, 1);
  ASSERT_EQ(p.parts[1].hazards.size(), 1u);
  EXPECT_EQ(p.parts[1].hazards[0].variable, v.node());
  EXPECT_EQ(p.parts[1].hazards[0].reader, 0);
}

TEST_F(PartitionTest, UnorderedAssignmentsOnTwoDevicesAreAnError) {
  const Variable v = var("v", {1});
  const Operation a = v.assign_add(v.value());
  const DeviceScope device("cpu:1");
  const Operation b = v.assign(constant(Array::full(f32, {1}, 2)));
  EXPECT_NE(error_of([&] { parted({.targets = {a, b}}); }).find("expected ordered assignments in one run"),
            std::string::npos);
}

}  // namespace
}  // namespace belfry
