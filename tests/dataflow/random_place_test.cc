// Which random numbers a stage draws: those of its place among the random stages before it.
#include <functional>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/concat.h"
#include "belfry/dataflow/fan_out.h"
#include "belfry/dataflow/fixed_size.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/print_points.h"
#include "belfry/dataflow/random_flows.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/repeat_each.h"
#include "belfry/dataflow/select.h"
#include "belfry/dataflow/shard.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/zip.h"
#include "tests/dataflow/flow_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

constexpr int kPoints = 24;

DataPoint draw(DataPoint, RandomStream& random) {
  return {Array(static_cast<int>(random.below(1'000'000))), Array(0.f)};
}

DataPoint same_point(DataPoint point) { return point; }

// What the last of two random stages draws in a pass with `stage` between them. Its numbers go by index, whatever the
// points are.
std::vector<int> numbers_behind(const FlowStage& stage, std::uint64_t epoch) {
  return pass(numbered(kPoints) | map(draw) | stage | map(draw), epoch);
}

struct Named {
  const char* name;
  FlowStage stage;
};

std::vector<Named> stages_without_numbers(const std::string& cache) {
  const auto joined = [](Flow (*join)(std::vector<Flow>)) {
    return FlowStage([=](Flow flow) { return join({std::move(flow)}); });
  };
  const auto keep = [](const DataPoint&) { return true; };
  return {
      {"cache_in_memory", cache_in_memory()},
      {"cache_on_disk", cache_on_disk(cache)},
      {"two caches", cache_in_memory() | cache_in_memory()},
      {"prefetch", prefetch(2)},
      {"batch", batch(2)},
      {"batch_by_shape", batch_by_shape(2)},
      {"map", map(same_point)},
      {"map with threads", map(same_point, {.threads = 2})},
      {"map_component", map_component([](Array a) { return a; })},
      {"filter", filter(keep)},
      {"print_points", print_points({.every = 1000})},
      {"select", select({0})},
      {"repeat", repeat(2)},
      {"repeat_each", repeat_each(2)},
      {"fixed_size", fixed_size(kPoints)},
      {"shard in one part", shard({.rank = 0, .size = 1})},
      {"concat", joined([](std::vector<Flow> flows) { return concat(std::move(flows)); })},
      {"zip", joined([](std::vector<Flow> flows) { return zip(std::move(flows)); })},
      {"fan_out to one", FlowStage([](Flow flow) { return fan_out(std::move(flow), {.consumers = 1})[0]; })},
  };
}

TEST(RandomPlace, StagesWithoutRandomNumbersChangeNoneBehindThem) {
  const testing_support::TempDir dir;
  const FlowStage none([](Flow flow) { return flow; });
  for (const std::uint64_t epoch : {0, 3}) {
    const std::vector<int> expected = numbers_behind(none, epoch);
    for (const Named& between : stages_without_numbers(dir / "points")) {
      std::vector<int> got = numbers_behind(between.stage, epoch);
      ASSERT_GE(got.size(), kPoints / 2u) << between.name;  // a batch has fewer points, a repeat more
      const std::size_t common = std::min(got.size(), expected.size());
      EXPECT_TRUE(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(common), expected.begin()))
          << between.name << " in epoch " << epoch;
    }
  }
}

TEST(RandomPlace, RandomStagesChangeTheNumbersBehindThem) {
  const auto behind = [](const FlowStage& stage) { return numbers_behind(stage, 1); };
  const std::vector<int> plain = behind(map(same_point));
  EXPECT_NE(behind(map(draw)), plain);
  EXPECT_NE(behind(shuffle_local(4)), plain);
  EXPECT_NE(behind(shuffle()), plain);
  // Also through a cache, which draws them only once.
  EXPECT_EQ(behind(map(draw) | cache_in_memory()), behind(map(draw)));
  EXPECT_EQ(behind(cache_in_memory() | map(draw)), behind(map(draw)));
}

TEST(RandomPlace, PartsOfAFlowDrawNumbersOfTheirOwn) {
  const auto part = [](std::int64_t rank) { return numbers_behind(shard({.rank = rank, .size = 2}), 0); };
  EXPECT_NE(part(0), part(1));
}

}  // namespace
}  // namespace belfry
