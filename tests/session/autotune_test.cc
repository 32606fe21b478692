// Autotune from a session's side: its choices are explained, kept in the machine's file and in checkpoints, and change
// nothing where it is off.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "belfry/base/file.h"
#include "belfry/base/random.h"
#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "belfry/session/saver.h"
#include "belfry/session/session_init.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using nlohmann::json;
using testing_support::all_equal;
using testing_support::LogLines;
using testing_support::TempDir;
using Choices = std::map<std::string, std::string>;

// Two convolutions, one of which Winograd can do, and a product, with a step that trains them.
struct Net {
  Net() {
    graph.set_seed(5);
    const GraphScope scope(graph);
    image = placeholder({"image", f32, {kAny, 12, 12, 32}});
    const auto weight = [](const char* name, const Shape& shape) {
      return get_variable(name, {.shape = shape, .initializer = [](const Shape& s, DType) {
                                   return random_normal(s, {.stddev = 0.1});
                                 }});
    };
    Tensor x = relu(conv2d(image, weight("conv0/W", {3, 3, 32, 32}), {}, "conv0") + weight("conv0/b", {32}));
    x = relu(conv2d(x, weight("conv1/W", {1, 1, 32, 16}), {}, "conv1"));
    y = matmul(batch_flatten(x), weight("fc/W", {12 * 12 * 16, 10}), "fc");
    const std::vector<Variable> variables = graph.variables();
    const Tensors g = gradients(reduce_mean(square(y)), variables);
    std::vector<Operation> updates;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const Variable slot = new_variable("slot", {.shape = variables[i].shape()});
      updates.emplace_back(apply_momentum(variables[i], slot, 0.05f, g[i]));
    }
    step = group(updates);
  }

  Feeds feeds() const {
    RandomStream stream(3);
    Array x(f32, {4, 12, 12, 32});
    for (float& v : x.values<float>()) v = static_cast<float>(2 * stream.uniform() - 1);
    return {{image, x}};
  }
  // The variables after `steps` more.
  std::vector<Array> train(Session& session, int steps) const {
    for (int i = 0; i < steps; ++i) session.run(step, feeds());
    std::vector<Array> out;
    for (const Variable& v : graph.variables()) out.push_back(session.value(v));
    return out;
  }

  Graph graph;
  Tensor image, y;
  Operation step;
};

SessionConfig tuned(const std::string& file) { return {.devices = {{2}}, .autotune = {.enabled = true, .file = file}}; }

void write_choices(const std::string& file, const Choices& choices) {
  json all = json::parse(read_file(file));
  all["algorithms"] = choices;
  testing_support::put_bytes(file, all.dump());
}

const bool has_winograd = cpu_isa() == Isa::avx512;  // oneDNN's needs AVX-512
bool is_product(const std::string& problem) { return problem.starts_with("matmul"); }
bool is_three_by_three(const std::string& problem) { return contains(problem, "filter[3, 3"); }

// Another algorithm wherever there surely is one.
Choices others(Choices choices) {
  for (auto& [problem, algorithm] : choices)
    if (is_product(problem))
      algorithm = algorithm == "one_thread" ? "team" : "one_thread";
    else if (is_three_by_three(problem) && has_winograd)
      algorithm = algorithm == "winograd" ? "direct" : "winograd";
  return choices;
}

void expect_near(const std::vector<Array>& a, const std::vector<Array>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::int64_t k = 0; k < a[i].elements(); ++k)
      ASSERT_NEAR(a[i].item(k), b[i].item(k), 2e-3 * (1 + std::abs(a[i].item(k))))
          << "value " << i << ", element " << k;
}

class AutotuneTest : public testing::Test {
 protected:
  Net net;
  TempDir dir;
  std::string file = dir / "autotune.json";
};

TEST_F(AutotuneTest, OffChangesNothing) {
  Session plain(net.graph, {.devices = {{2}}});
  Session named(net.graph, {.devices = {{2}}, .autotune = {.file = file}});  // not enabled
  plain.initialize();
  named.initialize();
  EXPECT_TRUE(all_equal(net.train(plain, 2), net.train(named, 2)));
  EXPECT_FALSE(contains(named.explain({net.step}, net.feeds()), "autotune"));
  EXPECT_EQ(named.explain({net.step}, net.feeds()), plain.explain({net.step}, net.feeds()));
  EXPECT_TRUE(named.algorithms().empty());
  EXPECT_TRUE(dir.names().empty()) << "no file is read or made";
  Saver(named, {.directory = dir / "saved"}).save(1);
  EXPECT_FALSE(contains(read_file(dir / "saved/model-1.json"), "algorithms"));
}

TEST_F(AutotuneTest, EveryChoiceIsExplainedAndKeptInTheFile) {
  Session session(net.graph, tuned(file));
  session.initialize();
  const std::string plan = session.explain({net.step}, net.feeds());
  const Choices choices = session.algorithms();
  int explained = 0;
  for (std::size_t at = plan.find("autotune: "); at != std::string::npos; at = plan.find("autotune: ", at + 1)) {
    ++explained;
    EXPECT_TRUE(contains(plan.substr(at, plan.find('\n', at) - at), "(timed)")) << plan;
  }
  EXPECT_GE(explained, 4) << plan;
  EXPECT_EQ(static_cast<std::size_t>(explained), choices.size()) << plan;  // all problems of this net are different
  EXPECT_EQ(json::parse(read_file(file))["algorithms"].get<Choices>(), choices);

  Session next(net.graph, tuned(file));
  next.initialize();
  const std::string again = next.explain({net.step}, net.feeds());
  EXPECT_EQ(next.algorithms(), choices);
  EXPECT_TRUE(contains(again, "(file)")) << again;
  EXPECT_FALSE(contains(again, "(timed)")) << again;
  EXPECT_TRUE(all_equal(net.train(session, 2), net.train(next, 2))) << "the same choices, other bits";
}

TEST_F(AutotuneTest, PeopleAreToldOnceASessionAndThenOnlyAtDebugLevel) {
  int info = 0, debug = 0;
  const LogRedirect redirect([&](LogLevel level, std::string_view line) {
    if (line.starts_with("[autotune] timed ")) ++(level == LogLevel::info ? info : debug);
  });
  Graph graph;
  const GraphScope scope(graph);
  const Tensor x = placeholder({"x", f32, {kAny, 64}});
  const Tensor y = matmul(x, get_variable("w", {.shape = {64, 64}}));
  Session session(graph, tuned(file));
  session.initialize();
  for (const std::int64_t rows : {32, 48, 80}) session.run(y, {{x, Array::zeros(f32, {rows, 64})}});
  EXPECT_EQ(info, 1);
  EXPECT_EQ(debug, 2);
}

TEST_F(AutotuneTest, ForcedChoicesAreUsedAndComputeTheSame) {
  Session first(net.graph, tuned(file)), plain(net.graph, {.devices = {{2}}});
  first.initialize();
  plain.initialize();
  const std::vector<Array> wanted = net.train(plain, 2);
  expect_near(net.train(first, 2), wanted);
  const Choices forced = others(first.algorithms());
  ASSERT_NE(forced, first.algorithms());
  write_choices(file, forced);
  Session second(net.graph, tuned(file));
  second.initialize();
  const std::string plan = second.explain({net.step}, net.feeds());
  EXPECT_EQ(second.algorithms(), forced);
  for (const auto& [problem, algorithm] : forced)
    EXPECT_TRUE(contains(plan, "autotune: " + algorithm + " (file)")) << algorithm << "\n" << plan;
  expect_near(net.train(second, 2), wanted);
}

TEST_F(AutotuneTest, BothWaysOfAConvolutionReachOneDnn) {
  if (!has_winograd) GTEST_SKIP() << "oneDNN has no Winograd without AVX-512";
  Session session(net.graph, tuned(file));
  session.initialize();
  session.explain({net.y}, net.feeds());
  Choices choices = session.algorithms();
  for (const std::string wish : {"winograd", "direct"}) {
    for (auto& [problem, algorithm] : choices)
      if (is_three_by_three(problem)) algorithm = wish;
    session.set_algorithms(choices);
    const std::string plan = session.explain({net.y}, net.feeds());
    EXPECT_TRUE(contains(plan, "autotune: " + wish + " (checkpoint)")) << plan;
    EXPECT_EQ(contains(plan, "[jit_wino"), wish == "winograd") << plan;
  }
}

TEST_F(AutotuneTest, AnUnknownAlgorithmInTheFileIsTimedAnew) {
  Session first(net.graph, tuned(file));
  first.initialize();
  first.explain({net.step}, net.feeds());
  Choices nonsense = first.algorithms();
  for (auto& [problem, algorithm] : nonsense) algorithm = "perpetual motion";
  write_choices(file, nonsense);
  Session second(net.graph, tuned(file));
  second.initialize();
  EXPECT_FALSE(contains(second.explain({net.step}, net.feeds()), "perpetual motion"));
  EXPECT_EQ(json::parse(read_file(file))["algorithms"].get<Choices>(), second.algorithms());
}

TEST_F(AutotuneTest, AResumedRunUsesTheCheckpointsChoicesWhateverTheFileSays) {
  Session whole(net.graph, tuned(file)), first(net.graph, tuned(file));
  whole.initialize();
  first.initialize();
  whole.explain({net.step}, net.feeds());
  Choices original = whole.algorithms(), otherwise = original;
  for (auto& [problem, algorithm] : original)
    if (is_product(problem))
      algorithm = contains(problem, "transpose") ? "one_thread" : "depth";
    else
      algorithm = is_three_by_three(problem) && has_winograd ? "winograd" : "direct";
  for (auto& [problem, algorithm] : otherwise) algorithm = is_product(problem) ? "team" : "direct";
  whole.set_algorithms(original);
  first.set_algorithms(original);
  const std::vector<Array> wanted = net.train(whole, 5);
  net.train(first, 2);
  {
    Saver saver(first, {.directory = dir / "saved"});
    saver.save(2);
  }
  EXPECT_EQ(load_checkpoint(dir / "saved/model-2").state.algorithms, original);

  write_choices(file, otherwise);
  const std::string before = read_file(file);
  Session second(net.graph, tuned(file));
  second.initialize();
  EXPECT_FALSE(all_equal(net.train(second, 5), wanted)) << "the file's choices give other bits";
  ContinueRun(dir / "saved/model-2").init(second);  // the plan of the file's choices must not be used again
  EXPECT_EQ(second.algorithms(), original);
  const std::string plan = second.explain({net.step}, net.feeds());
  EXPECT_TRUE(contains(plan, "(checkpoint)")) << plan;
  EXPECT_FALSE(contains(plan, "(file)")) << plan;
  EXPECT_TRUE(all_equal(net.train(second, 3), wanted));
  EXPECT_EQ(read_file(file), before) << "the machine's own choices stay";
}

TEST_F(AutotuneTest, WhatElseIsFetchedDoesNotChangeTheBits) {
  Session alone(net.graph, tuned(file)), more(net.graph, tuned(dir / "another.json"));
  alone.initialize();
  more.initialize();
  alone.run(net.step, net.feeds());
  more.set_algorithms(alone.algorithms());
  more.run({net.step, "conv0", "conv1", "fc"}, net.feeds());  // which are fused away otherwise
  EXPECT_EQ(more.algorithms(), alone.algorithms()) << "another problem was met";
  EXPECT_TRUE(all_equal(net.train(alone, 0), net.train(more, 0)));
}

TEST_F(AutotuneTest, RestoredChoicesReachCallablesThatWereBoundBefore) {
  Session session(net.graph, tuned(file)), other(net.graph, tuned(file));
  session.initialize();
  other.initialize();
  const Callable call = session.make_callable({net.y}, {net.image});
  const Array x = net.feeds()[0].second;
  call(std::vector{x});
  const Choices changed = others(session.algorithms());
  session.set_algorithms(changed);
  other.set_algorithms(changed);
  EXPECT_TRUE(equal(call(std::vector{x})[0], other.run(net.y, net.feeds())));
}

TEST_F(AutotuneTest, ASessionWithoutItSaysThatACheckpointsChoicesAreNotUsed) {
  Session session(net.graph, tuned(file)), plain(net.graph, {.devices = {{2}}}),
      untouched(net.graph, {.devices = {{2}}});
  session.initialize();
  session.explain({net.y}, net.feeds());
  {
    Saver saver(session, {.directory = dir / "saved"});
    saver.save(1);
  }
  LogLines log;
  ContinueRun(dir / "saved/model-1").init(plain);
  EXPECT_TRUE(contains(log.text, "[autotune] expected a session with autotune for ")) << log.text;
  EXPECT_TRUE(contains(log.text,
                       "got one without. It follows the fixed rule, and its results may differ in their last bits. Set "
                       "SessionConfig::autotune."))
      << log.text;
  untouched.initialize();
  EXPECT_TRUE(equal(plain.run(net.y, net.feeds()), untouched.run(net.y, net.feeds())));
  EXPECT_TRUE(plain.algorithms().empty());
}

}  // namespace
}  // namespace belfry
