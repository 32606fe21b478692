// What every flow promises about saved positions, as one check.
#pragma once

#include <functional>

#include "tests/dataflow/flow_testing.h"

namespace belfry {

inline std::vector<DataPoint> points_left_of(Flow& flow) {
  std::vector<DataPoint> points;
  while (std::optional<DataPoint> point = flow.next()) points.push_back(std::move(*point));
  return points;
}

// Saves the position before, between and after all points of epochs 0 and 1. Restored into a new flow and into the same
// one, each must continue with exactly the points that came next, and the epoch after it must be the same, too.
inline void expect_restores_everywhere(const std::function<Flow()>& make) {
  Flow flow = make();
  SCOPED_TRACE(flow.describe());
  flow.start_epoch(2);
  const std::vector<DataPoint> third_pass = points_left_of(flow);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    flow.start_epoch(epoch);
    std::vector<std::string> states{to_string(flow.state())};
    std::vector<DataPoint> points;
    while (std::optional<DataPoint> point = flow.next()) {
      points.push_back(std::move(*point));
      states.push_back(to_string(flow.state()));
    }
    for (std::size_t at = 0; at < states.size(); ++at) {
      Flow fresh = make();
      for (Flow* restored : {&flow, &fresh}) {
        restored->restore(flow_state_from_string(states[at]));
        EXPECT_EQ(to_string(restored->state()), states[at]);
        EXPECT_EQ(restored->epoch(), epoch);
        const std::vector<DataPoint> rest = points_left_of(*restored);
        ASSERT_EQ(rest.size(), points.size() - at);
        for (std::size_t i = 0; i < rest.size(); ++i) ASSERT_TRUE(same(rest[i], points[at + i])) << at << " + " << i;
      }
      fresh.start_epoch(2);
      const std::vector<DataPoint> again = points_left_of(fresh);
      ASSERT_EQ(again.size(), third_pass.size());
      for (std::size_t i = 0; i < again.size(); ++i) ASSERT_TRUE(same(again[i], third_pass[i])) << i;
    }
  }
}

}  // namespace belfry
