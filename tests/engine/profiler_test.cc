#include "belfry/engine/profiler.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "belfry/base/file.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/session/session.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::TempDir;

nlohmann::json trace_of(const Session& session) {
  const TempDir directory;
  session.write_trace(directory / "trace.json");
  return nlohmann::json::parse(read_file(directory / "trace.json"));
}

int instructions_of(Session& session, const std::vector<Fetch>& fetches) {
  const std::string plan = session.explain(fetches);
  const std::size_t line = plan.rfind('\n', plan.size() - 2) + 1;
  return std::stoi(plan.substr(line));
}

class ProfilerTest : public testing::Test {
 protected:
  Graph graph;
  GraphScope scope{graph};
};

TEST_F(ProfilerTest, EveryInstructionOfEveryRunIsAnEvent) {
  const Variable w = get_variable("w", {.shape = {8, 8}});
  const Tensor y = matmul(w, w, "product"), z = exp(matmul(y, y, "again"));
  Session session(graph, {.devices = {{1}}, .profile = true});
  session.initialize();
  session.clear_profile();
  for (int i = 0; i < 3; ++i) session.run(z);
  const nlohmann::json trace = trace_of(session);
  const auto& events = trace["traceEvents"];
  const int instructions = instructions_of(session, {z});
  EXPECT_EQ(static_cast<int>(events.size()), 3 * instructions);
  std::map<std::string, int> names;
  double last = 0;
  for (const auto& e : events) {
    ++names[e["args"]["name"]];
    EXPECT_EQ(e["ph"], "X");
    EXPECT_EQ(e["tid"], 0);
    EXPECT_TRUE(e["name"].is_string());
    EXPECT_GE(e["dur"].get<double>(), 0);
    EXPECT_GE(e["ts"].get<double>(), last);  // one device: one after the other
    last = e["ts"].get<double>() + e["dur"].get<double>() - 1e-3;
  }
  EXPECT_EQ(names.at("product"), 3);
  EXPECT_EQ(names.at("again"), 3);
}

TEST_F(ProfilerTest, DevicesAreThreadsOfTheTrace) {
  Tensors parts;
  for (int d = 0; d < 2; ++d) {
    const DeviceScope device("cpu:" + std::to_string(d));
    const Variable w = get_variable("w" + std::to_string(d), {.shape = {8, 8}});
    parts.push_back(matmul(w, w));
  }
  Session session(graph, {.devices = {{1}, {1}}, .profile = true});
  session.initialize();
  session.clear_profile();
  session.run({parts[0], parts[1]});
  std::set<int> devices;
  const nlohmann::json trace = trace_of(session);
  for (const auto& e : trace["traceEvents"]) devices.insert(e["tid"].get<int>());
  EXPECT_EQ(devices, (std::set{0, 1}));
}

TEST_F(ProfilerTest, OddNamesStillGiveATraceThatParses) {
  const Tensor x = placeholder({"x", f32, {2}});
  const Tensor y = exp(x);
  y.node()->name = "a \"quote\" \\ and \xff";  // no user could
  Session session(graph, {.profile = true});
  session.run(y, {{x, Array::zeros(f32, {2})}});
  const nlohmann::json trace = trace_of(session);
  bool found = false;
  for (const auto& e : trace["traceEvents"]) found = found || e["args"]["name"] == "a \"quote\" \\ and \xef\xbf\xbd";
  EXPECT_TRUE(found);
}

TEST_F(ProfilerTest, WithoutProfilingThereIsNoTrace) {
  Session session(graph);
  EXPECT_TRUE(session.profile_totals().empty());
  try {
    session.write_trace("nowhere.json");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("Set SessionConfig::profile"), std::string::npos);
  }
}

TEST(Profiler, TotalsAreByOpLargestFirst) {
  Profiler profiler;
  profiler.record({.name = "a", .op = "Small", .begin = 0, .end = 10});
  profiler.record({.name = "b", .op = "Large", .begin = 10, .end = 110});
  profiler.record({.name = "c", .op = "Small", .begin = 110, .end = 125});
  const auto totals = profiler.totals();
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[0].op, "Large");
  EXPECT_EQ(totals[1].op, "Small");
  EXPECT_EQ(totals[1].nanoseconds, 25);
  profiler.clear();
  EXPECT_TRUE(profiler.totals().empty());
}

}  // namespace
}  // namespace belfry
