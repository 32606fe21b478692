// Helpers of the dataflow tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "belfry/base/error.h"
#include "belfry/dataflow/sources/list.h"
#include "tests/support/errors.h"

namespace belfry {

// Points {i32 scalar i, f32 [2] {i, -i}} for i in [0, count).
inline std::vector<DataPoint> numbered_points(int count) {
  std::vector<DataPoint> points;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    points.push_back({Array(i), Array::of<float>({2}, {value, -value})});
  }
  return points;
}

inline Flow numbered(int count) { return from_list(numbered_points(count)); }

// The first component of what is left of the pass, all elements in a row.
inline std::vector<int> drain(Flow flow) {
  std::vector<int> values;
  while (const std::optional<DataPoint> point = flow.next()) {
    const Array& first = (*point)[0];
    for (std::int64_t i = 0; i < first.elements(); ++i) values.push_back(static_cast<int>(first.item(i)));
  }
  return values;
}

inline std::vector<int> pass(Flow flow, std::uint64_t epoch) {
  flow.start_epoch(epoch);
  return drain(flow);
}

inline std::vector<int> upto(int count) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(i);
  return values;
}

inline bool same(const DataPoint& a, const DataPoint& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!equal(a[k], b[k])) return false;
  return true;
}

inline std::vector<DataPoint> points_of(Flow& flow) {
  std::vector<DataPoint> points;
  while (std::optional<DataPoint> point = flow.next()) points.push_back(std::move(*point));
  return points;
}

inline void expect_same(const std::vector<DataPoint>& got, const std::vector<DataPoint>& all, std::size_t first = 0) {
  ASSERT_EQ(got.size(), all.size() - first);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(same(got[i], all[first + i])) << first << " + " << i;
}

// The states at every point of two passes, each restored into a flow that make() gives and into the same flow all the
// time, bring back what came next, and the next pass.
template <class Make>
void expect_restores_everywhere(Make&& make) {
  Flow used = make();
  SCOPED_TRACE(used.describe());
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    Flow flow = make();
    flow.start_epoch(epoch);
    std::vector<std::string> states{to_string(flow.state())};
    std::vector<DataPoint> points;
    while (std::optional<DataPoint> point = flow.next()) {
      points.push_back(std::move(*point));
      states.push_back(to_string(flow.state()));
    }
    flow.start_epoch(epoch + 1);
    const std::vector<DataPoint> next_pass = points_of(flow);
    for (std::size_t at = 0; at < states.size(); ++at) {
      Flow fresh = make();
      for (Flow* restored : {&used, &fresh}) {
        restored->restore(flow_state_from_string(states[at]));
        EXPECT_EQ(to_string(restored->state()), states[at]);
        EXPECT_EQ(restored->epoch(), epoch);
        expect_same(points_of(*restored), points, at);
      }
      fresh.start_epoch(epoch + 1);
      expect_same(points_of(fresh), next_pass);
    }
  }
}

// A flow that can be read only in order, as one from a pipe would be: counts what is read from it.
class Sequential final : public DataFlow {
 public:
  explicit Sequential(int count, int* reads = nullptr) : count_(count), reads_(reads) {}

  void start_epoch(std::uint64_t epoch) override { epoch_ = epoch, position_ = 0; }
  std::uint64_t epoch() const override { return epoch_; }
  std::optional<DataPoint> next() override {
    if (position_ >= count_) return std::nullopt;
    if (reads_ != nullptr) ++*reads_;
    return DataPoint{Array(position_++)};
  }
  std::optional<std::int64_t> size() const override { return std::nullopt; }
  FlowState state() const override {
    return {"sequential", {{"epoch", epoch_}, {"position", static_cast<std::uint64_t>(position_)}}, {}};
  }
  void restore(const FlowState& state) override {
    state.expect("sequential", 0);
    epoch_ = state.at("epoch");
    position_ = static_cast<int>(state.at("position"));
  }
  std::string describe() const override { return "sequential"; }

 private:
  int count_;
  int* reads_;
  std::uint64_t epoch_ = 0;
  int position_ = 0;
};

}  // namespace belfry
