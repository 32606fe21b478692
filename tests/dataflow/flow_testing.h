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

// A state as it was saved before states carried identities: only its numbers can be checked.
inline FlowState without_identity(FlowState state) {
  state.identity = nullptr;
  for (FlowState& source : state.from) source = without_identity(std::move(source));
  return state;
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
