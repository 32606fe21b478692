// Errors, or the end of all reading, at a thousand random moments: no thread is left over, and an
// error arrives once and names its stage.
#include <atomic>
#include <chrono>

#include "belfry/base/random.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/concat.h"
#include "belfry/dataflow/fan_out.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/function.h"
#include "belfry/dataflow/zip.h"
#include "tests/dataflow/flow_testing.h"
#include "tests/support/thread_watch.h"

namespace belfry {
namespace {

// What goes wrong, if anything: the call of that number, counted over all threads and stages. A call works for so long.
struct Trouble {
  std::atomic<int> calls = 0;
  int fails_at = -1;
  std::atomic<bool> thrown = false;
  std::chrono::microseconds work{0};

  DataPoint pass(DataPoint point) {
    const auto end = std::chrono::steady_clock::now() + work;
    while (std::chrono::steady_clock::now() < end) {
    }
    if (calls++ == fails_at) {
      thrown = true;
      throw FileError("no such luck");
    }
    return point;
  }
};
using TroublePtr = std::shared_ptr<Trouble>;

Flow random_source(RandomStream& random, const TroublePtr& trouble) {
  switch (random.below(3)) {
    case 0: return numbered(50);
    case 1: return Sequential(50);
    default:
      return from_function([trouble](std::int64_t i) { return trouble->pass({Array(static_cast<int>(i))}); },
                           {.size = 50});
  }
}

Flow random_flow(RandomStream& random, const TroublePtr& trouble) {
  const auto failing = [trouble](DataPoint point) { return trouble->pass(std::move(point)); };
  const auto keep = [trouble](DataPoint point) { return trouble->pass(std::move(point))[0].elements() > 0; };
  const auto to_one = [](const DataPoint&) { return DataPoint{Array(1)}; };
  const auto chance = [&] { return random.below(2) == 0; };
  Flow flow = random_source(random, trouble);
  for (std::uint64_t stages = 2 + random.below(4); stages > 0; --stages) {
    const auto threads = static_cast<int>(random.below(4));
    const auto few = static_cast<int>(1 + random.below(chance() ? 8 : 64));
    switch (random.below(11)) {
      case 0: flow = flow | prefetch(few); break;
      case 1: flow = flow | shuffle_local(few, random.bits()); break;
      case 2: flow = flow | repeat(2); break;
      case 3: flow = concat({flow, numbered(7) | map(failing, {.threads = threads})}); break;
      case 4: flow = zip({flow, numbered(50) | repeat() | prefetch(few)}); break;
      case 5: flow = fan_out(flow, {.consumers = 1, .buffer = few})[0]; break;
      case 6: flow = flow | filter(keep, {.threads = threads, .buffer = few}); break;
      case 7: flow = flow | map(to_one) | batch(few, Remainder::keep); break;
      case 8: flow = flow | cache_in_memory(); break;
      default: flow = flow | map(failing, {.threads = threads, .buffer = few});
    }
  }
  if (chance()) flow = flow | map(failing, {.threads = 3, .ordered = false});
  if (chance()) flow = flow | prefetch(2);
  return chance() ? flow : flow | repeat();
}

// Reads, starts again, restores, cancels, leaves: as chance will have it. The number of errors that arrived.
int use(Flow flow, RandomStream& random) {
  int errors = 0;
  for (std::uint64_t moves = random.below(4); moves > 0; --moves) {
    try {
      for (std::uint64_t points = random.below(80); points > 0; --points)
        if (!flow.next()) break;
      if (random.below(3) == 0) flow.start_epoch(random.below(3));
      if (random.below(3) == 0) flow.restore(flow.state());
      if (random.below(4) == 0) {
        flow->cancel();
        flow.next();
        flow.start_epoch(1);
      }
    } catch (const Cancelled&) {
      flow.start_epoch(0);
    } catch (const FileError& e) {
      ++errors;
      EXPECT_TRUE(contains(e.what(), "] the function of '")) << e.what();
      EXPECT_TRUE(contains(e.what(), "no such luck")) << e.what();
      flow.start_epoch(0);
    }
  }
  return errors;
}

// What is thrown in a pass that is read to its end arrives: 1 if there was something.
int read_whole_pass(Flow flow, Trouble& trouble) {
  trouble.thrown = false;
  try {
    flow.start_epoch(0);
    while (flow.next()) {
    }
  } catch (const FileError&) {
    return 1;
  }
  EXPECT_FALSE(trouble.thrown) << "an error was swallowed";
  return 0;
}

TEST(NoHang, AtAThousandRandomMoments) {
  const ThreadWatch threads;
  RandomStream random(17);
  int delivered = 0;
  for (int round = 0; round < 1000; ++round) {
    const auto trouble = std::make_shared<Trouble>();
    if (random.below(2) == 0) trouble->fails_at = static_cast<int>(random.below(200));
    if (random.below(8) == 0) trouble->work = std::chrono::microseconds(random.below(300));
    auto begin = std::chrono::steady_clock::now();
    {
      Flow flow = random_flow(random, trouble);
      SCOPED_TRACE(flow.describe());
      int errors = use(flow, random);
      if (!flow->endless() && random.below(2) == 0) errors += read_whole_pass(flow, *trouble);
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
