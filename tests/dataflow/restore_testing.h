// The contract of saved positions, for any flow: tests of sources and stages call it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/dataflow/flow_testing.h"

namespace belfry {

inline std::vector<DataPoint> rest_of(Flow flow) {
  std::vector<DataPoint> points;
  while (std::optional<DataPoint> point = flow.next()) points.push_back(std::move(*point));
  return points;
}

inline void expect_same(const std::vector<DataPoint>& got, std::span<const DataPoint> wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(same(got[i], wanted[i])) << "point " << i;
}

// The state at every point of two passes, ends included: put back into the flow and into a new one from `make`, it
// gives what would have come next, the same state, and the same next pass.
inline void expect_restores_everywhere(const std::function<Flow()>& make) {
  Flow flow = make();
  SCOPED_TRACE(flow.describe());
  std::vector<std::string> states[2];
  std::vector<DataPoint> points[2];
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    flow.start_epoch(epoch);
    states[epoch].push_back(to_string(flow.state()));
    while (std::optional<DataPoint> point = flow.next()) {
      points[epoch].push_back(std::move(*point));
      states[epoch].push_back(to_string(flow.state()));
    }
    EXPECT_EQ(flow.next(), std::nullopt);
  }
  ASSERT_GT(points[0].size(), 1u) << "too few points to say anything";
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
    for (std::size_t at = 0; at < states[epoch].size(); ++at) {
      SCOPED_TRACE("epoch " + std::to_string(epoch) + ", point " + std::to_string(at));
      Flow fresh = make();
      for (Flow* restored : {&flow, &fresh}) {
        restored->restore(flow_state_from_string(states[epoch][at]));
        EXPECT_EQ(to_string(restored->state()), states[epoch][at]);
        EXPECT_EQ(restored->epoch(), epoch);
        expect_same(rest_of(*restored), std::span(points[epoch]).subspan(at));
        restored->start_epoch(1);
        expect_same(rest_of(*restored), points[1]);
      }
    }
}

}  // namespace belfry
