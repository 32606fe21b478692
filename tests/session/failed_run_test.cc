// What a run that fails leaves behind: some assignments done, others not, every variable whole, a usable session.
#include <gtest/gtest.h>

#include <cmath>

#include "belfry/ops/check_numerics.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

using testing_support::GraphTest;

constexpr std::int64_t kSize = 5000;
constexpr int kVariables = 6;

class FailedRunTest : public GraphTest, public testing::WithParamInterface<int> {
 protected:
  // The value that all elements have.
  static double whole(const Session& session, const Variable& variable) {
    const Array value = session.value(variable);
    for (std::int64_t i = 1; i < value.elements(); ++i) EXPECT_EQ(value.item(i), value.item(0)) << variable.name();
    return value.item(0);
  }
};

TEST_P(FailedRunTest, EveryVariableIsWholeAndWhatIsBehindTheCheckIsAsBefore) {
  const int devices = GetParam();
  const Tensor x = placeholder({"x", f32, {}});
  const Tensor check = check_numerics(x, "x"), ones = constant(Array::full(f32, {kSize}, 1));
  std::vector<Variable> free, behind;
  std::vector<Operation> updates;
  for (int i = 0; i < kVariables; ++i) {
    const DeviceScope device("cpu:" + std::to_string(i % devices));
    free.push_back(var("free" + std::to_string(i), Array::zeros(f32, {kSize})));
    behind.push_back(var("behind" + std::to_string(i), Array::zeros(f32, {kSize})));
    updates.push_back(free.back().assign_add(ones));
    const ControlDependencies after({check});
    updates.push_back(behind.back().assign_add(ones));
  }
  const Operation step = group(updates);
  Session session(graph, {.devices = std::vector<DeviceConfig>(static_cast<std::size_t>(devices), DeviceConfig{1})});
  session.initialize();
  for (int round = 0; round < 20; ++round) {
    std::vector<double> before;
    for (const Variable& v : free) before.push_back(whole(session, v));
    EXPECT_THROW(session.run(step, {{x, Array(NAN)}}), NumericError);
    for (std::size_t i = 0; i < free.size(); ++i) {
      const double now = whole(session, free[i]);
      EXPECT_TRUE(now == before[i] || now == before[i] + 1) << now << " after " << before[i];
      before[i] = now;
      EXPECT_EQ(whole(session, behind[i]), round);
    }
    session.run(step, {{x, Array(1.f)}});
    for (std::size_t i = 0; i < free.size(); ++i) {
      EXPECT_EQ(whole(session, free[i]), before[i] + 1);
      EXPECT_EQ(whole(session, behind[i]), round + 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, FailedRunTest, testing::Values(1, 2));

}  // namespace
}  // namespace belfry
