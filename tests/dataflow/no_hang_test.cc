// A thousand random moments at which something goes wrong, or nobody wants more points: no thread stays behind, and an
// error arrives once and names its stage.
#include <atomic>
#include <chrono>

#include "belfry/base/random.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/concat.h"
#include "belfry/dataflow/fan_out.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/zip.h"
#include "tests/dataflow/flow_testing.h"
#include "tests/support/thread_watch.h"

namespace belfry {
namespace {

// What goes wrong, if anything: the call of that number, counted over all threads and stages. A call works for so long.
struct Trouble {
  std::atomic<int> calls = 0;
  int fails_at = -1;
  std::chrono::microseconds work{0};

  DataPoint pass(DataPoint point) {
    const auto end = std::chrono::steady_clock::now() + work;
    while (std::chrono::steady_clock::now() < end) {
    }
    if (calls++ == fails_at) throw FileError("no such luck");
    return point;
  }
};

Flow random_flow(RandomStream& random, const std::shared_ptr<Trouble>& trouble) {
  const auto failing = [trouble](DataPoint point) { return trouble->pass(std::move(point)); };
  Flow flow = random.below(2) == 0 ? numbered(50) : Flow(Sequential(50));
  for (std::uint64_t stages = 2 + random.below(4); stages > 0; --stages) {
    const auto threads = static_cast<int>(random.below(4)),
               few = static_cast<int>(1 + random.below(random.below(2) == 0 ? 8 : 64));
    switch (random.below(8)) {
      case 5: flow = concat({flow, numbered(7) | map(failing, {.threads = threads})}); break;
      case 6: flow = zip({flow, numbered(60) | prefetch(few)}); break;
      case 7: flow = fan_out(flow, {.consumers = 1, .buffer = few})[0]; break;
      case 0: flow = flow | prefetch(few); break;
      case 1: flow = flow | shuffle_local(few, random.bits()); break;
      case 2: flow = flow | repeat(); break;
      default: flow = flow | map(failing, {.threads = threads, .ordered = random.below(2) == 0, .buffer = few});
    }
  }
  return flow;
}

// Reads, starts again, restores, leaves: as chance will have it. The number of errors that arrived.
int use(Flow flow, RandomStream& random) {
  int errors = 0;
  for (std::uint64_t moves = random.below(4); moves > 0; --moves) {
    try {
      for (std::uint64_t points = random.below(80); points > 0; --points)
        if (!flow.next()) break;
      if (random.below(3) == 0) flow.start_epoch(random.below(3));
      if (random.below(3) == 0) flow.restore(flow.state());
    } catch (const FileError& e) {
      ++errors;
      EXPECT_TRUE(contains(e.what(), "[map] the function of '")) << e.what();
      EXPECT_TRUE(contains(e.what(), "no such luck")) << e.what();
      flow.start_epoch(0);
    }
  }
  return errors;
}

TEST(NoHang, AtAThousandRandomMoments) {
  const ThreadWatch threads;
  RandomStream random(17);
  int delivered = 0;
  for (int round = 0; round < 1000; ++round) {
    const auto trouble = std::make_shared<Trouble>();
    if (random.below(2) == 0) trouble->fails_at = static_cast<int>(random.below(120));
    if (random.below(8) == 0) trouble->work = std::chrono::microseconds(random.below(500));
    auto begin = std::chrono::steady_clock::now();
    {
      Flow flow = random_flow(random, trouble);
      SCOPED_TRACE(flow.describe());
      const int errors = use(flow, random);
      EXPECT_LE(errors, 1);
      delivered += errors;
      begin = std::chrono::steady_clock::now();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1)) << "in round " << round;
    ASSERT_TRUE(threads.none_left()) << "in round " << round;
    EXPECT_EQ(trouble.use_count(), 1);
  }
  EXPECT_GT(delivered, 100);
}

}  // namespace
}  // namespace belfry
