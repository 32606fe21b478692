// The property that every flow has to have: a saved position brings back exactly the points that would have come next.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/dataflow/flow_testing.h"

namespace belfry {

inline std::vector<DataPoint> points_left(Flow flow) {
  std::vector<DataPoint> points;
  while (std::optional<DataPoint> point = flow.next()) points.push_back(std::move(*point));
  return points;
}

inline void expect_same(const std::vector<DataPoint>& points, const std::vector<DataPoint>& expected,
                        std::size_t from = 0) {
  ASSERT_EQ(points.size(), expected.size() - from);
  for (std::size_t i = 0; i < points.size(); ++i)
    ASSERT_TRUE(same(points[i], expected[from + i])) << from << " + " << i;
}

// Takes states throughout the passes `epoch` and `epoch` + 1 of what `make` makes, restores each into a flow that has
// been elsewhere and into a new one, and expects the rest of the pass and the whole next one. At most this many states.
inline void expect_exact_restore(const std::function<Flow()>& make, std::uint64_t first_epoch = 0,
                                 std::size_t at_most = 1000) {
  Flow flow = make();
  SCOPED_TRACE(flow.describe());
  for (std::uint64_t epoch = first_epoch; epoch < first_epoch + 2; ++epoch) {
    flow.start_epoch(epoch);
    std::vector<std::string> states{to_string(flow.state())};
    std::vector<DataPoint> points;
    while (std::optional<DataPoint> point = flow.next()) {
      points.push_back(std::move(*point));
      states.push_back(to_string(flow.state()));
    }
    EXPECT_EQ(flow.next(), std::nullopt);
    flow.start_epoch(epoch + 1);
    const std::vector<DataPoint> next_pass = points_left(flow);

    const std::size_t stride = 1 + states.size() / at_most;
    for (std::size_t at = 0; at < states.size(); at += stride) {
      Flow fresh = make();
      for (Flow* restored : {&flow, &fresh}) {
        restored->restore(flow_state_from_string(states[at]));
        EXPECT_EQ(to_string(restored->state()), states[at]);
        EXPECT_EQ(restored->epoch(), epoch);
        ASSERT_NO_FATAL_FAILURE(expect_same(points_left(*restored), points, at));
      }
      fresh.start_epoch(epoch + 1);
      ASSERT_NO_FATAL_FAILURE(expect_same(points_left(fresh), next_pass));
    }
  }
}

// If there is random access: every point by its index is the one that comes in order, and next_index() counts.
inline void expect_random_access_in_order(const std::function<Flow()>& make) {
  Flow flow = make(), indexed = make();
  SCOPED_TRACE(flow.describe());
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    flow.start_epoch(epoch), indexed.start_epoch(epoch);
    RandomAccess* access = indexed->random_access();
    ASSERT_NE(access, nullptr);
    const std::vector<DataPoint> points = points_left(flow);
    ASSERT_EQ(access->count(), static_cast<std::int64_t>(points.size()));
    for (std::size_t i = points.size(); i-- > 0;)
      EXPECT_TRUE(same(access->at(static_cast<std::int64_t>(i)), points[i])) << i;
    for (std::int64_t i = 0; i < access->count(); ++i) EXPECT_EQ(access->next_index(), i);
    EXPECT_EQ(access->next_index(), std::nullopt);
    EXPECT_EQ(access->next_index(), std::nullopt);
  }
}

}  // namespace belfry
