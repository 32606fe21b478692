// What a session says it holds is what the process takes. Both are measured in processes of their own, for two sizes of
// the batch: code, threads and kernels are the same in both, so that the difference is that of the steps' memory alone.
#include <fmt/format.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "belfry/input/graph_inputs.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/reduce.h"
#include "tests/support/errors.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

constexpr const char* kChild = "BELFRY_TEST_BATCH";

struct Measured {
  double peak = 0, held = 0, arena = 0;  // bytes
};

GetCost cost_of(bool sync, int kernel) {
  return [sync, kernel](const Inputs& in) {
    Tensor y = in["x"];
    for (int i = 0; i < 3; ++i)
      y = y | conv2d("conv" + std::to_string(i), {.filters = 16, .kernel = kernel, .use_bias = false}) |
          batch_norm("bn" + std::to_string(i), {.sync_statistics = sync, .activation = relu});
    return reduce_mean(square(y), "cost");
  };
}

double peak_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return 1024 * std::stod(line.substr(6));
  return 0;
}

// The process takes what it touches, to the page, and gives back what it frees: no huge pages, and no large blocks from
// malloc's own heap. Of kernels larger than a pixel, oneDNN reserves scratch memory that it does not touch.
void train_and_tell(std::int64_t batch, bool sync) {
  EXPECT_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  EXPECT_EQ(mallopt(M_MMAP_THRESHOLD, 64 << 10), 1);
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  trainer.setup_graph({{"x", f32, {kAny, 32, 32, 3}}}, DummyConstantInput({{batch, 32, 32, 3}}), cost_of(sync, 1),
                      make_momentum);
  trainer.train({.session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 2, .max_epoch = 1});
  std::printf("\nmeasured %.0f %.0f %.0f\n", peak_of_this_process(),
              static_cast<double>(trainer.session().memory().total()),
              static_cast<double>(trainer.session().arena_bytes()));
}

// Runs the test that is running now, in a process that trains with this batch.
Measured measure(std::int64_t batch) {
  std::array<char, 4096> program{};
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size() - 1);
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string command =
      fmt::format("{}={} '{}' --gtest_filter={}.{}", kChild, batch,
                  std::string(program.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))),
                  test->test_suite_name(), test->name());
  FILE* output = popen(command.c_str(), "r");
  std::string text;
  for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) text += static_cast<char>(c);
  EXPECT_EQ(pclose(output), 0) << text;
  const std::size_t at = text.find("\nmeasured ");
  EXPECT_NE(at, std::string::npos) << text;
  Measured out;
  if (at != std::string::npos) std::istringstream(text.substr(at + 10)) >> out.peak >> out.held >> out.arena;
  return out;
}

bool sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

class StepMemoryTest : public testing::Test {
 protected:
  // Pages round up each buffer outside the arenas: at most a gradient, a value and two slots of 12 variables a tower.
  // And the system counts pages 64 at a time for each of a process's threads, of which there are no more than four.
  static constexpr double kPage = 4096, kRounding = 2 * 4 * 12 * kPage + 2 * 4 * 64 * kPage;

  Measured small, large;

  // False in the process that only measures.
  bool compare(bool sync) {
    if (const char* batch = getenv(kChild)) {
      train_and_tell(std::stol(batch), sync);
      return false;
    }
    small = measure(32);
    large = measure(96);
    EXPECT_NEAR(large.peak - small.peak, large.held - small.held, kRounding);
    EXPECT_GT(large.arena - small.arena, 20 * kRounding) << "the batch is too small for the difference to say much";
    EXPECT_GT(small.peak, small.held);
    return true;
  }
};

TEST_F(StepMemoryTest, TowersTakeWhatTheSessionSays) {
  if (sanitized()) GTEST_SKIP() << "sanitizers take memory of their own";
  compare(false);
}

// Forward and backward, each layer is a separate part for each tower, and nearly all activations go from part to
// part.
TEST_F(StepMemoryTest, TowersThatMeetInEveryLayerTakeWhatTheSessionSays) {
  if (sanitized()) GTEST_SKIP() << "sanitizers take memory of their own";
  compare(true);
}

// Where a layer's parts meet, a gradient and what becomes of it cannot share their place, and what is normalised is not
// yet fused with its activation: one activation more each, in both towers.
TEST(StepMemoryBoundTest, SynchronisedBatchNormTakesLittleMoreThanOwnStatistics) {
  const auto arena_of = [](bool sync) {
    Graph graph;
    const GraphScope scope(graph);
    SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
    trainer.setup_graph({{"x", f32, {kAny, 32, 32, 3}}}, DummyConstantInput({{16, 32, 32, 3}}), cost_of(sync, 3),
                        make_momentum);
    trainer.train({.session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 1, .max_epoch = 1});
    return trainer.session().arena_bytes();
  };
  const std::size_t activation = 16 * 32 * 32 * 16 * 4;
  EXPECT_LE(arena_of(true), arena_of(false) + 2 * 2 * activation);
}

}  // namespace
}  // namespace belfry
