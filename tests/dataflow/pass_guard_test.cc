#include "belfry/dataflow/internal/pass_guard.h"

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/fixed_size.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/random_flows.h"
#include "belfry/dataflow/section.h"
#include "belfry/dataflow/shard.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/generator.h"
#include "belfry/dataflow/zip.h"
#include "tests/dataflow/flow_testing.h"

namespace belfry {
namespace {

constexpr const char* kRemedy = "Call start_epoch() or restore() first.";

std::string refusal_of(const std::string& who) {
  return "[" + who + "] expected a pass that goes on, got one that ended with an error. " + kRemedy;
}

const auto unlucky = [](const DataPoint& point) -> DataPoint {
  if (point[0].item() == 2) throw FileError("no such luck");
  return point;
};

TEST(PassGuard, AfterAnErrorAPassIsRefusedUntilOneBegins) {
  PassGuard pass;
  EXPECT_EQ(pass.reading("me", [] { return 7; }), 7);
  EXPECT_EQ(error_of([&] { pass.reading("me", [] { throw FileError("no such luck"); }); }), "no such luck");
  EXPECT_TRUE(pass.failed());
  EXPECT_EQ(error_of([&] { pass.check("me"); }), refusal_of("me"));
  bool read = false;
  EXPECT_EQ(error_of([&] { pass.reading("me", [&] { read = true; }); }), refusal_of("me"));
  EXPECT_FALSE(read);
  pass.begin([] {});
  EXPECT_NO_THROW(pass.check("me"));
}

TEST(PassGuard, ABeginningThatThrowsIsAFailure) {
  PassGuard pass;
  EXPECT_EQ(error_of([&] { pass.begin([] { throw FileError("no such luck"); }); }), "no such luck");
  EXPECT_EQ(error_of([&] { pass.check("me"); }), refusal_of("me"));
}

TEST(PassGuard, AnErrorWithinNestedReadingsEndsThePassOnce) {
  PassGuard pass;
  const auto inner = [&] { pass.reading("me", [] { throw FileError("no such luck"); }); };
  EXPECT_EQ(error_of([&] { pass.reading("me", inner); }), "no such luck");
  EXPECT_TRUE(pass.failed());
}

TEST(FailedPass, StaysFailedAfterARestoreThatThrew) {
  const auto noisy = [](DataPoint point, RandomStream&) { return point; };
  const std::vector<Flow> flows{numbered(8) | batch(2),
                                numbered(8) | batch_by_shape(2),
                                numbered(8) | fixed_size(8),
                                numbered(8) | map(noisy),
                                numbered(8) | map(noisy, {.threads = 2}),
                                numbered(8) | prefetch(2),
                                numbered(8) | shard({.rank = 0, .size = 1}),
                                numbered(8) | shuffle_local(3),
                                numbered(8) | skip(0),
                                numbered(8) | take(8),
                                random_choose({numbered(8)}),
                                random_mix({numbered(8)}),
                                zip({numbered(8)})};
  for (Flow flow : flows) {
    SCOPED_TRACE(flow.describe());
    flow.next();
    EXPECT_THROW(flow.restore({"another", {}, {}}), Error);
    EXPECT_TRUE(contains(error_of([&] { flow.next(); }), kRemedy));
    EXPECT_EQ(pass(flow, 0).size(), 8u);
  }
}

TEST(FailedPass, IsNotReadOnByIndexEither) {
  const auto noisy = [](DataPoint point, RandomStream&) { return point; };
  for (const FlowStage& stage : {shard({.rank = 0, .size = 1}), take(5), skip(0), map(noisy)}) {
    Flow flow = numbered(5) | map(unlucky) | stage;
    SCOPED_TRACE(flow.describe());
    EXPECT_THROW(drain(flow), FileError);
    EXPECT_TRUE(contains(error_of([&] { flow->random_access()->next_index(); }), kRemedy));
    flow.start_epoch(0);
    EXPECT_EQ(flow->random_access()->next_index(), 0);
  }
}

TEST(RandomChoose, DoesNotGoOnBehindAPointThatWasLost) {
  Flow flow = random_choose({numbered(5) | map(unlucky)});
  EXPECT_THROW(drain(flow), FileError);
  EXPECT_EQ(error_of([&] { flow.next(); }), refusal_of("random_choose"));
  EXPECT_EQ(error_of([&] { flow.state(); }), refusal_of("random_choose"));
  flow.start_epoch(0);
  EXPECT_EQ((*flow.next())[0].item(), 0);
}

TEST(FromGenerator, DoesNotGoOnWhereAPositionWasNotReached) {
  int points = 3;
  Flow flow = from_generator([&](std::uint64_t) -> Generator {
    return [&points, at = 0]() mutable -> std::optional<DataPoint> {
      if (at == points) return std::nullopt;
      return DataPoint{Array(at++)};
    };
  });
  drain(flow);
  const FlowState state = flow.state();
  points = 2;
  EXPECT_TRUE(contains(error_of([&] { flow.restore(state); }), "The source has changed."));
  EXPECT_EQ(error_of([&] { flow.next(); }), refusal_of("from_generator"));
  EXPECT_EQ(pass(flow, 0), upto(2));
}

}  // namespace
}  // namespace belfry
