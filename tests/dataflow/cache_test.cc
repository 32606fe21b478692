#include "belfry/dataflow/cache.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/random.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/fixed_size.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/repeat_each.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/fake.h"
#include "belfry/dataflow/sources/function.h"
#include "tests/dataflow/restore_checks.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"
#include "tests/support/mutations.h"

namespace belfry {
namespace {

using testing_support::file_error_of;
using testing_support::FullDisk;
using testing_support::put_bytes;
using testing_support::TempDir;

Flow failing_once(int at, bool& failed) {
  return Flow(Sequential(5)) | map([at, &failed](DataPoint point) {
           if (point[0].item() == at && !std::exchange(failed, true)) throw Error("no such luck");
           return point;
         });
}

class Caches : public testing::TestWithParam<bool> {
 protected:
  // In a new file each time it is called.
  FlowStage cache() { return GetParam() ? cache_on_disk(dir_ / std::to_string(++files_)) : cache_in_memory(); }

  TempDir dir_;
  int files_ = 0;
};
INSTANTIATE_TEST_SUITE_P(All, Caches, testing::Bool(),
                         [](const auto& info) { return info.param ? "OnDisk" : "InMemory"; });

TEST_P(Caches, GiveThePointsOfTheSourceAndReadThemOnce) {
  int reads = 0;
  Flow flow = Flow(Sequential(6, &reads)) | cache();
  EXPECT_EQ(reads, 0);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(pass(flow, epoch), upto(6));
  EXPECT_EQ(flow.next(), std::nullopt);
  EXPECT_EQ(flow.epoch(), 2u);
  EXPECT_EQ(reads, 6);
}

TEST_P(Caches, MakeAFlowThatCanBeReadOnlyInOrderShuffleable) {
  int reads = 0;
  Flow flow = Flow(Sequential(30, &reads)) | cache() | shuffle(3);
  const std::vector<int> first = pass(flow, 0), second = pass(flow, 1);
  EXPECT_NE(first, second);
  EXPECT_TRUE(std::ranges::is_permutation(first, upto(30)));
  EXPECT_TRUE(std::ranges::is_permutation(second, upto(30)));
  EXPECT_EQ(reads, 30);
}

TEST_P(Caches, HaveTheSizeOfTheSourceAtAllTimes) {
  int reads = 0;
  Flow unknown = Flow(Sequential(6, &reads)) | cache();
  EXPECT_EQ(unknown.size(), std::nullopt);
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(drain(unknown), upto(6));
  EXPECT_EQ(unknown.size(), std::nullopt);
  EXPECT_EQ(unknown->random_access()->count(), 6);
  EXPECT_EQ((unknown | repeat_each(2) | shuffle(1)).known_size(), 12);
  int calls = 0;
  Flow sized = from_function(
                   [&](std::int64_t i) {
                     ++calls;
                     return DataPoint{Array(i)};
                   },
                   {.size = 4}) |
               cache();
  EXPECT_EQ(sized.known_size(), 4);
  EXPECT_EQ(calls, 0);
}

TEST_P(Caches, ComposingReadsNothing) {
  int reads = 0;
  Flow flow = Flow(Sequential(6, &reads)) | cache() | batch(2) | prefetch(2);
  EXPECT_EQ(flow.size(), std::nullopt);
  EXPECT_EQ(reads, 0);
}

TEST_P(Caches, RefuseASourceWithoutEnd) {
  const std::string error = error_of([this] { numbered(6) | repeat() | prefetch(2) | cache(); });
  EXPECT_TRUE(contains(error,
                       "expected a flow that ends, got 'list | repeat | prefetch(2)', which does not. Call repeat() "
                       "after this instead, or limit the flow with fixed_size()."))
      << error;
  EXPECT_EQ(drain(numbered(6) | repeat() | fixed_size(4) | cache()), upto(4));
}

TEST_P(Caches, FreezeEpochZeroOfWhatDiffersFromPassToPass) {
  Flow frozen = numbered(20) | shuffle(1) | cache(), plain = numbered(20) | shuffle(1);
  const std::vector<int> first = pass(plain, 0);
  EXPECT_EQ(pass(frozen, 3), first);
  EXPECT_EQ(pass(frozen, 4), first);
}

TEST_P(Caches, KeepEveryKindOfPoint) {
  const DataPoint mixed{Array(true), Array::of<std::uint8_t>({2}, {1, 255}), Array(f32, {0, 3}), Array(1e300)};
  Flow flow = from_list({mixed, {}, {Array(std::int64_t{1} << 60)}}) | cache();
  const std::vector<DataPoint> points = points_left(flow);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_TRUE(same(points[0], mixed));
  EXPECT_TRUE(points[1].empty());
  EXPECT_EQ(points[2][0].item(), std::int64_t{1} << 60);
}

TEST_P(Caches, BatchTheSameInEveryPass) {
  Flow flow = Flow(Sequential(7)) | cache() | batch(2, Remainder::keep);
  EXPECT_EQ(pass(flow, 0), upto(7));  // point by point
  EXPECT_EQ(pass(flow, 1), upto(7));  // now all are known to be alike
}

TEST_P(Caches, ServeManyThreads) {
  Flow flow =
      fake_data({{i32, {}, 0, 1000}}, {.size = 200}) | cache() | map([](DataPoint p) { return p; }, {.threads = 4});
  Flow plain = fake_data({{i32, {}, 0, 1000}}, {.size = 200});
  const std::vector<int> points = pass(plain, 0);
  EXPECT_EQ(pass(flow, 0), points);
  EXPECT_EQ(pass(flow, 1), points);
}

TEST_P(Caches, BeginAnewAfterAnErrorOfTheSource) {
  bool failed = false;
  Flow flow = failing_once(3, failed) | cache();
  EXPECT_TRUE(contains(error_of([&] { drain(flow); }), "no such luck"));
  EXPECT_TRUE(contains(error_of([&] { flow.next(); }),
                       "expected a pass that goes on, got one that ended with an error. Call start_epoch() or "
                       "restore() first."));
  const FlowState state = flow.state();
  const auto given = static_cast<int>(state.at("position"));
  flow.restore(state);
  EXPECT_EQ(static_cast<int>(drain(flow).size()), 5 - given);
  EXPECT_EQ(pass(flow, 1), upto(5));
}

TEST_P(Caches, BeginAnewAfterACancel) {
  Flow flow = Flow(Sequential(9)) | prefetch(2) | cache();
  flow->cancel();
  EXPECT_THROW(flow.next(), Error);
  EXPECT_EQ(pass(flow, 0), upto(9));
}

TEST_P(Caches, ACancelEndsTheFilling) {
  std::atomic<int> reads = 0;
  DataFlow* cancelled = nullptr;
  const auto counted = map([&](DataPoint point) {
    if (++reads == 3) cancelled->cancel();
    return point;
  });
  Flow flow = Flow(Sequential(50)) | counted | cache();
  cancelled = &*flow;
  EXPECT_THROW(flow->random_access()->count(), Cancelled);
  EXPECT_EQ(reads, 3);
  EXPECT_THROW(flow->random_access()->count(), Cancelled);
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(pass(flow, 0), upto(50));
}

TEST_P(Caches, RestoreEverywhere) {
  expect_exact_restore([&] { return Flow(Sequential(6)) | cache(); });
  expect_exact_restore([&] { return Flow(Sequential(6)) | cache() | shuffle(4) | batch(2); });
  expect_exact_restore([&] { return numbered(5) | cache() | repeat(2) | prefetch(3); });
  expect_exact_restore([&] { return numbered(5) | shuffle_local(2, 1) | cache() | shuffle_local(3, 2); });
}

TEST_P(Caches, RefuseTheStateOfAnotherSource) {
  Flow flow = numbered(5) | cache(), other = numbered(6) | cache();
  EXPECT_TRUE(
      contains(error_of([&] { flow.restore(without_identity(other.state())); }),
               R"-(over {"flow":"list","count":5,"epoch":0,"position":0,"identity":"list(count=5)"}, got one over )-"
               R"({"flow":"list","count":6)"));
  FlowState state = flow.state();
  state.numbers = {{"epoch", 0}, {"position", 6}};
  EXPECT_TRUE(contains(error_of([&] { flow.restore(state); }), "expected a position of at most 5 in 'cache_"));
}

TEST(CacheInMemory, PassesThatAreLeftEarlyReadNothingTwice) {
  std::atomic<int> reads = 0;
  Flow flow = numbered(20) | map([&](DataPoint point) {
                ++reads;
                return point;
              }) |
              cache_in_memory() | prefetch(2);
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
    flow.start_epoch(epoch);
    for (int i = 0; i < 1 + static_cast<int>(epoch) / 3; ++i) EXPECT_EQ((*flow.next())[0].item(), i);
  }
  EXPECT_EQ(pass(flow, 50), upto(20));
  EXPECT_EQ(reads, 20);
}

TEST(CacheInMemory, GoesOnBehindWhatIsKeptAfterACancel) {
  int reads = 0;
  Flow flow = Flow(Sequential(9, &reads)) | batch(2, Remainder::keep) | cache_in_memory();
  flow.next(), flow.next();
  flow->cancel();
  EXPECT_THROW(flow.next(), Cancelled);
  EXPECT_EQ(pass(flow, 0), upto(9));
  EXPECT_EQ(pass(flow, 1), upto(9));
  EXPECT_EQ(reads, 9);
}

TEST(CacheInMemory, ReadsOnlyWhatIsNeeded) {
  int reads = 0;
  Flow flow = Flow(Sequential(10, &reads)) | cache_in_memory();
  flow.next(), flow.next();
  EXPECT_EQ(reads, 2);
  EXPECT_EQ((flow.start_epoch(1), (*flow.next())[0].item()), 0);
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(flow->random_access()->at(6)[0].item(), 6);
  EXPECT_EQ(reads, 7);
  EXPECT_EQ(drain(flow).size(), 9u);
  EXPECT_EQ(reads, 10);
}

// -- On disk

class CacheOnDisk : public testing::Test {
 protected:
  Flow cached(int points, const std::string& key = "") { return numbered(points) | cache_on_disk(path_, {.key = key}); }
  std::string written() {
    EXPECT_EQ(drain(cached(4)), upto(4));
    return read_file(path_);
  }

  TempDir dir_;
  const std::string path_ = dir_ / "points";
};

TEST_F(CacheOnDisk, AFileThatIsThereSparesTheSource) {
  int reads = 0;
  const auto make = [&] { return Flow(Sequential(5, &reads)) | cache_on_disk(path_); };
  EXPECT_EQ(drain(make()), upto(5));
  EXPECT_EQ(reads, 5);
  Flow flow = make();
  flow.restore({"cache_on_disk", {{"epoch", 2}, {"position", 3}}, flow.state().from});
  EXPECT_EQ(drain(flow), (std::vector<int>{3, 4}));
  EXPECT_EQ(reads, 5);
  EXPECT_EQ(dir_.names(), std::vector<std::string>{"points"});
}

TEST_F(CacheOnDisk, AStaleFileIsAnErrorAndStays) {
  const std::string before = written();
  EXPECT_EQ(file_error_of([&] { cached(5, "v2"); }),
            "[cache_on_disk] expected the points of list(count=5) (5 points) with the key 'v2' in '" + path_ +
                "', got those of list(count=4) (4 points) with the key ''. The cache is stale: remove the file, or "
                "name another.");
  EXPECT_TRUE(contains(file_error_of([&] { cached(4, "v2"); }), "The cache is stale"));
  EXPECT_TRUE(contains(file_error_of([&] { numbered(4) | batch(1) | cache_on_disk(path_); }), "The cache is stale"));
  EXPECT_EQ(read_file(path_), before);
}

TEST_F(CacheOnDisk, ASeedMakesAnotherCacheButThreadsDoNot) {
  const auto noisy = [](DataPoint point, RandomStream& random) {
    point[0] = Array(static_cast<int>(random.below(1000)));
    return point;
  };
  const auto made = [&](std::uint64_t seed, int threads, int depth) {
    Flow flow = numbered(9) | shuffle(seed) | map(noisy, {.seed = seed, .threads = threads});
    return (depth > 0 ? flow | prefetch(depth) : flow) | batch(3) | cache_on_disk(path_);
  };
  const std::vector<int> points = drain(made(1, 0, 0));
  EXPECT_EQ(drain(made(1, 2, 4)), points);
  EXPECT_EQ(drain(made(1, 3, 1)), points);
  EXPECT_TRUE(contains(file_error_of([&] { made(2, 0, 0); }), "The cache is stale"));
}

TEST_F(CacheOnDisk, ASourceMayHaveTheNameOfAStage) {
  const auto one = [](std::int64_t) { return DataPoint{Array(7)}; };
  EXPECT_EQ(drain(from_function(one, {.size = 1, .name = "prefetch"}) | cache_on_disk(path_)), std::vector<int>{7});
}

TEST_F(CacheOnDisk, ATruncatedFileIsAnErrorWhereverItEnds) {
  const std::string good = written();
  for (std::size_t length = 0; length < good.size(); ++length) {
    put_bytes(path_, good.substr(0, length));
    EXPECT_THROW(cached(4), FileError) << length;
  }
  put_bytes(path_, good.substr(0, good.size() - 1));
  EXPECT_EQ(
      file_error_of([&] { cached(4); }),
      "[cache_on_disk] expected 'CEND' at the end of '" + path_ +
          "', got something else. The file is truncated. Remove the file: it will be written again from its source.");
}

TEST_F(CacheOnDisk, ADamagedByteAnywhereIsAnError) {
  const std::string good = written();
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] ^= 0x10;
    put_bytes(path_, bad);
    EXPECT_THROW(drain(cached(4)), FileError) << at;
  }
  put_bytes(path_, good);
  EXPECT_EQ(drain(cached(4)), upto(4));
}

TEST_F(CacheOnDisk, SaysWhatIsDamaged) {
  const std::string good = written();
  const auto damaged = [&](std::size_t at) {
    std::string bad = good;
    bad[at] ^= 1;
    put_bytes(path_, bad);
  };
  damaged(8 + 4);  // in the first point
  Flow flow = cached(4);
  EXPECT_TRUE(contains(file_error_of([&] { flow.next(); }), " for point 0 in '" + path_ + "', got "));
  EXPECT_EQ(flow->random_access()->at(1)[0].item(), 1);  // the others are still good
  damaged(good.size() - 60);
  EXPECT_EQ(file_error_of([&] { cached(4); }),
            "[cache_on_disk] expected an index with its checksum in '" + path_ +
                "', got another. The file is damaged. Remove the file: it will be written again from its source.");
  put_bytes(path_, "a file of somebody else");
  EXPECT_EQ(file_error_of([&] { cached(4); }),
            "[cache_on_disk] expected a cache, which begins with 'BELFRYC1', got something else in '" + path_ +
                "'. Name another file.");
}

TEST_F(CacheOnDisk, RandomDamageIsRefusedOrRead) {
  const std::string good = written();
  testing_support::Mutator mutate(5);
  const testing_support::Survived survived = testing_support::survive(
      2000, [&] { return mutate(good); },
      [&](const std::string& bytes) {
        put_bytes(path_, bytes);
        drain(cached(4));
      });
  EXPECT_GT(survived.refused, 1000);
}

TEST_F(CacheOnDisk, AnErrorOnTheWayLeavesNoFile) {
  bool failed = false;
  Flow flow = failing_once(3, failed) | cache_on_disk(path_);
  EXPECT_THROW(drain(flow), Error);
  EXPECT_TRUE(dir_.names().empty());
  Flow large = fake_data({{u8, {1000}, 0, 256}}, {.size = 300}) | cache_on_disk(path_);
  {
    const FullDisk full(100'000);
    EXPECT_TRUE(contains(file_error_of([&] { large.next(); }), path_));
  }
  EXPECT_TRUE(dir_.names().empty());
  EXPECT_EQ(pass(large, 0).size(), 300'000u);
}

TEST_F(CacheOnDisk, TwoThatWriteAtOnceDoNoHarm) {
  std::vector<std::thread> writers;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&] {
      Flow flow = cached(500);
      if (drain(flow) == upto(500) && pass(flow, 1) == upto(500)) ++good;
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(dir_.names(), std::vector<std::string>{"points"});
}

TEST_F(CacheOnDisk, ASourceThatDoesNotKeepItsSizeIsAnError) {
  struct Liar final : DataFlow {
    void start_epoch(std::uint64_t) override {}
    std::optional<DataPoint> next() override { return std::nullopt; }
    std::uint64_t epoch() const override { return 0; }
    std::optional<std::int64_t> size() const override { return 3; }
    FlowState state() const override { return {"liar", {}, {}}; }
    void restore(const FlowState&) override {}
    std::string describe() const override { return "liar"; }
  };
  Flow flow = Flow(Liar()) | cache_on_disk(path_);
  EXPECT_EQ(error_of([&] { flow.next(); }), "[cache_on_disk] expected 3 points of 'liar', as its size() says, got 0.");
}

TEST_F(CacheOnDisk, APathWithoutADirectoryOrANameIsAnError) {
  EXPECT_EQ(error_of([] { cache_on_disk(""); }), "[cache_on_disk] expected the path of a file, got an empty text.");
  Flow flow = numbered(3) | cache_on_disk(dir_ / "none/points");
  EXPECT_TRUE(contains(file_error_of([&] { flow.next(); }), "none/"));
}

}  // namespace
}  // namespace belfry
