#include "belfry/dataflow/flow_identity.h"

#include <functional>

#include "belfry/array/npz.h"
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
#include "belfry/dataflow/section.h"
#include "belfry/dataflow/select.h"
#include "belfry/dataflow/shard.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/fake.h"
#include "belfry/dataflow/sources/function.h"
#include "belfry/dataflow/sources/generator.h"
#include "belfry/dataflow/sources/npz.h"
#include "belfry/dataflow/sources/token_streams.h"
#include "belfry/dataflow/zip.h"
#include "tests/dataflow/flow_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

const auto noisy = [](DataPoint point, RandomStream&) { return point; };
const auto unchanged = [](DataPoint point) { return point; };

std::string identity_of(const Flow& flow) { return to_string(flow.identity()); }

TEST(FlowIdentity, NamesKindsAndParametersThroughThePipeline) {
  EXPECT_EQ(identity_of(numbered(6) | shuffle(1) | map(noisy, {.seed = 2}) | batch(2)),
            "list(count=6) | shuffle(seed=1) | map(seed=2) | batch(points=2, keep=no)");
  EXPECT_EQ(identity_of(random_mix({numbered(2), numbered(3) | take(1)}, 4) | repeat()),
            "random_mix(list(count=2), list(count=3) | take(points=1), seed=4) | repeat");
  EXPECT_EQ(identity_of(Sequential(3)), "sequential");
}

// Each row: flows that all differ from each other, and are each equal to one that is built alike.
TEST(FlowIdentity, IsTheSameForFlowsBuiltAlikeAndChangesWithWhatChangesThePoints) {
  const auto one_of = [](std::int64_t index) { return DataPoint{Array(index)}; };
  const auto generator = [](std::uint64_t) -> Generator { return [] { return std::optional<DataPoint>(); }; };
  const auto streams = [](TokenStreamOptions options) {
    return token_streams(Array::of<std::int32_t>({9}, {0, 1, 2, 3, 4, 5, 6, 7, 8}), options);
  };
  const auto fanned = [](FanOutOptions options, std::size_t k) { return fan_out(numbered(8), options)[k]; };
  const auto mixed = [](std::vector<double> weights, std::uint64_t seed) {
    return random_choose({numbered(8), numbered(8)}, {.weights = std::move(weights), .seed = seed});
  };
  using Make = std::function<Flow()>;
  const std::vector<std::vector<Make>> rows{
      {[] { return numbered(8); }, [] { return numbered(7); }, [] { return numbered(8) | repeat(); },
       [] { return numbered(8) | repeat(2); }, [] { return numbered(8) | repeat(3); }},
      {[] { return numbered(8) | shuffle(1); }, [] { return numbered(8) | shuffle(2); },
       [] { return numbered(8) | shuffle_local(2, 1); }, [] { return numbered(8) | shuffle_local(3, 1); },
       [] { return numbered(8) | shuffle_local(2, 2); }},
      {[] { return numbered(8) | batch(2); }, [] { return numbered(8) | batch(4); },
       [] { return numbered(8) | batch(2, Remainder::keep); }, [] { return numbered(8) | batch_by_shape(2); },
       [] { return numbered(8) | batch_by_shape(3); }, [] { return numbered(8) | batch_by_shape(2, Remainder::keep); }},
      {[] { return numbered(8) | batch(2, {.ragged = Ragged::pad}); },
       [] { return numbered(8) | batch(2, {.ragged = Ragged::pad, .pad_value = 1}); },
       [] { return numbered(8) | batch(2, {.ragged = Ragged::pad, .ragged_components = {1}}); },
       [] { return numbered(8) | batch(2, {.ragged = Ragged::pad_all}); },
       [] { return numbered(8) | batch(2, {.ragged = Ragged::concat}); }},
      {[] { return numbered(8) | map(unchanged); }, [] { return numbered(8) | map(noisy); },
       [] { return numbered(8) | map(noisy, {.seed = 1}); },
       [] { return numbered(8) | map(unchanged, {.threads = 2, .ordered = false}); }},
      {[] { return numbered(8) | select({0}); }, [] { return numbered(8) | select({1}); },
       [] { return numbered(8) | select({0, 1}); }},
      {[] { return numbered(8) | take(3); }, [] { return numbered(8) | take(4); }, [] { return numbered(8) | skip(3); },
       [] { return numbered(8) | skip(4); }, [] { return split_at(numbered(8), 3).first; },
       [] { return split_at(numbered(8), 3).second; }, [] { return split_at(numbered(8), 4).first; }},
      {[] { return numbered(8) | fixed_size(3); }, [] { return numbered(8) | fixed_size(4); },
       [] { return numbered(8) | fixed_size(3, {.keep_state = false}); }},
      {[] { return numbered(8) | shard({.rank = 0, .size = 2}); },
       [] { return numbered(8) | shard({.rank = 1, .size = 2}); },
       [] { return numbered(8) | shard({.rank = 0, .size = 3}); }},
      {[] { return numbered(8) | repeat_each(2); }, [] { return numbered(8) | repeat_each(3); }},
      {[] { return concat({numbered(2), numbered(3)}); }, [] { return concat({numbered(3), numbered(2)}); },
       [] { return zip({numbered(2), numbered(3)}); }, [] { return concat({numbered(2)}); }},
      {[=] { return mixed({}, 1); }, [=] { return mixed({}, 2); }, [=] { return mixed({1, 2}, 1); }},
      {[=] { return fanned({}, 0); }, [=] { return fanned({}, 1); }, [=] { return fanned({.consumers = 3}, 0); },
       [=] { return fanned({.each = Each::all}, 0); }},
      {[=] { return from_function(one_of, {.size = 3}); }, [=] { return from_function(one_of, {.size = 4}); },
       [=] { return from_function(one_of); }, [=] { return from_function(one_of, {.name = "another"}); },
       [=] { return from_generator(generator); }, [=] { return from_generator(generator, {.size = 0}); }},
      {[] { return fake_data({{.shape = {2}}}); }, [] { return fake_data({{.shape = {3}}}); },
       [] { return fake_data({{.shape = {2}, .high = 2}}); }, [] { return fake_data({{.shape = {2}}}, {.seed = 1}); },
       [] { return fake_data({{.dtype = f64, .shape = {2}}}); },
       [] { return fake_data({{.shape = {2}}}, {.size = 1}); },
       [] { return fake_data({{.shape = {2}}}, {.fixed = true}); }},
      {[=] { return streams({.streams = 2, .sequence_length = 2}); },
       [=] { return streams({.streams = 4, .sequence_length = 2}); },
       [=] { return streams({.streams = 2, .sequence_length = 3}); },
       [=] { return streams({.streams = 2, .sequence_length = 2, .time_major = false}); },
       [=] { return streams({.streams = 2, .sequence_length = 2, .begins = true}); }},
  };
  for (const std::vector<Make>& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      for (std::size_t k = 0; k < row.size(); ++k) {
        const Flow a = row[i](), b = row[k]();
        EXPECT_EQ(a.identity() == b.identity(), i == k) << identity_of(a) << "\n" << identity_of(b);
        EXPECT_EQ(identity_of(a) == identity_of(b), i == k) << identity_of(a);
      }
}

TEST(FlowIdentity, DoesNotChangeWithThreadsReadingAheadOrPrinting) {
  const std::string expected = identity_of(numbered(8) | map(noisy, {.seed = 1}) | batch(2));
  EXPECT_EQ(identity_of(numbered(8) | map(noisy, {.seed = 1, .threads = 2}) | batch(2)), expected);
  EXPECT_EQ(identity_of(numbered(8) | map(noisy, {.seed = 1, .threads = 3, .buffer = 5}) | batch(2)), expected);
  EXPECT_EQ(identity_of(numbered(8) | prefetch(3) | map(noisy, {.seed = 1}) | batch(2) | prefetch(1)), expected);
  EXPECT_EQ(identity_of(numbered(8) | print_points() | map(noisy, {.seed = 1}) | batch(2)), expected);
  EXPECT_EQ(fan_out(numbered(8), {.buffer = 3})[0].identity(), fan_out(numbered(8))[0].identity());
}

TEST(FlowIdentity, IsTheSameWhereverTheFlowStands) {
  Flow flow = numbered(8) | shuffle(1) | batch(2);
  const FlowIdentity before = flow.identity();
  flow.start_epoch(3);
  flow.next();
  EXPECT_EQ(flow.identity(), before);
}

TEST(FlowIdentity, ANameCannotPassForAComposition) {
  const auto one_of = [](std::int64_t index) { return DataPoint{Array(index)}; };
  const std::string name = identity_of(from_function(one_of, {.name = "list(count=8) | \"a\""}));
  EXPECT_EQ(name, R"("list(count=8) | \"a\"")");
  EXPECT_NE(to_string(FlowIdentity{.kind = "a", .parameters = {{"x", "1, y=2"}}}),
            to_string(FlowIdentity{.kind = "a", .parameters = {{"x", 1}, {"y", 2}}}));
}

TEST(FlowIdentity, APositionIsRestoredWhereverTheDataLie) {
  const testing_support::TempDir directory;
  std::vector<std::string> paths;
  for (const char* name : {"a.npz", "b.npz"}) {
    paths.push_back(directory / name);
    write_npz(paths.back(), {{"x", Array::of<float>({3}, {0, 1, 2})}});
  }
  Flow here = from_npz(paths[0]) | shuffle(1), there = from_npz(paths[1]) | shuffle(1);
  EXPECT_NE(here.identity(), there.identity());
  EXPECT_EQ(to_string(here.identity(), Places::omit), "npz(arrays=\"x\") | shuffle(seed=1)");
  here.next();
  there.restore(flow_state_from_string(to_string(here.state())));
  EXPECT_EQ(drain(there), drain(here));
}

TEST(FlowIdentity, APositionOfAnotherFlowIsAnErrorThatNamesBoth) {
  Flow flow = numbered(6) | select({0}) | batch(2) | prefetch(2), other = numbered(6) | select({1}) | batch(2);
  other = other | prefetch(2);
  const std::string saved = to_string(other.state());
  const std::string expected =
      "[restore] expected a position of 'list(count=6) | select(components=\"0\") | batch(points=2, keep=no)', got one "
      "of 'list(count=6) | select(components=\"1\") | batch(points=2, keep=no)'. The flow must be built as it was "
      "when the position was saved.";
  EXPECT_EQ(error_of([&] { flow.restore(flow_state_from_string(saved)); }), expected);
  EXPECT_EQ(error_of([&] { flow.restore(other.state()); }), expected);
}

TEST(FlowIdentity, SourcesRefuseAPositionOfAnotherToo) {
  const auto one_of = [](std::int64_t index) { return DataPoint{Array(index)}; };
  const auto generator = [](std::uint64_t) -> Generator { return [] { return std::optional<DataPoint>(); }; };
  const std::vector<std::pair<Flow, Flow>> pairs{
      {numbered(3), numbered(4)},
      {from_function(one_of), from_function(one_of, {.name = "another"})},
      {from_generator(generator), from_generator(generator, {.name = "another"})},
      {fan_out(numbered(3))[0], fan_out(numbered(4))[0]},
      {zip({numbered(3)}), zip({numbered(4)})},
      {numbered(3) | cache_in_memory(), numbered(4) | cache_in_memory()},
  };
  for (auto [flow, other] : pairs)
    EXPECT_TRUE(contains(
        error_of([&, f = flow]() mutable { f.restore(other.state()); }),
        "[restore] expected a position of '" + identity_of(flow) + "', got one of '" + identity_of(other) + "'."));
}

TEST(FlowIdentity, APositionSavedWithoutOneIsCheckedByItsNumbersAlone) {
  Flow flow = numbered(6) | shuffle(1) | batch(2);
  const char* const saved =
      R"({"flow":"batch","points":2,"keep":0,"from":[{"flow":"shuffle","seed":1,"epoch":2,"position":4,)"
      R"("from":[{"flow":"list","count":6,"epoch":2,"position":0}]}]})";
  flow.restore(flow_state_from_string(saved));
  const std::vector<int> rest = drain(flow);
  flow.start_epoch(2);
  flow.next(), flow.next();
  EXPECT_EQ(drain(flow), rest);
  Flow other = numbered(6) | shuffle(2) | batch(2);
  EXPECT_EQ(error_of([&] { other.restore(flow_state_from_string(saved)); }),
            "[restore] expected a state of 'shuffle' with seed = 2, got 1. The flow must be built as it was when the "
            "state was taken.");
}

TEST(FlowIdentity, ATextThatIsNoneIsAnError) {
  EXPECT_EQ(error_of([] { flow_state_from_string(R"({"flow":"list","identity":7})"); }),
            "[flow state] expected a text for the identity of 'list', got 7.");
}

}  // namespace
}  // namespace belfry
