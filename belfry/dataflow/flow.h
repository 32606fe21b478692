// Flow: the handle to any DataFlow, and FlowStage: a step that makes one flow from another.
//
//   Flow train = fashion_mnist("train") | map(augment) | batch(128) | prefetch(4);
//   for (DataPoint& point : train) ...                 // epoch 0
//   for (DataPoint& point : train) ...                 // epoch 1: another order
//
// A range-for gives what is left of the current pass or, if nothing is left of it, the whole next epoch. So a loop that
// was left early is continued by the next one, and so is a position that was restored.
//
// Copies of a Flow are the same flow. A flow feeds at most one other at a time: two consumers would take each other's
// points, so that is an error. Composing puts the flow back to the start of epoch 0. Once the other one is gone, it
// stands anywhere: begin a pass, or restore a position.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "belfry/dataflow/dataflow.h"

#pragma GCC visibility push(default)
namespace belfry {

class Flow {
 public:
  Flow() = default;  // empty: usable only after assignment
  template <std::derived_from<DataFlow> T>
  Flow(std::shared_ptr<T> flow) : flow_(std::move(flow)) {}  // NOLINT(google-explicit-constructor)
  // A user's own flow, by value: Flow flow = MyFlow{...};
  template <std::derived_from<DataFlow> T>
  Flow(T flow) : flow_(std::make_shared<T>(std::move(flow))) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return flow_ != nullptr; }
  DataFlow& operator*() const;  // throws if empty
  DataFlow* operator->() const { return &**this; }

  // Those that move the flow throw if it feeds another one: that reads it. (A loop that runs already does not ask.)
  void reset_state() { unclaimed().reset_state(); }
  void start_epoch(std::uint64_t epoch) { unclaimed().start_epoch(epoch); }
  std::uint64_t epoch() const { return (**this).epoch(); }
  std::optional<DataPoint> next() { return unclaimed().next(); }
  std::optional<std::int64_t> size() const { return (**this).size(); }
  std::int64_t known_size() const;  // throws if the size is unknown, or there is no end
  FlowState state() const { return (**this).state(); }
  void restore(const FlowState& state) { unclaimed().restore(state); }
  FlowIdentity identity() const { return (**this).identity(); }
  std::string describe() const { return (**this).describe(); }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = DataPoint;
    using difference_type = std::ptrdiff_t;
    using pointer = DataPoint*;
    using reference = DataPoint&;

    explicit Iterator(DataFlow& flow) : flow_(&flow), point_(flow.next()) {}
    DataPoint& operator*() { return *point_; }
    Iterator& operator++() {
      point_ = flow_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !point_.has_value(); }

   private:
    DataFlow* flow_;
    std::optional<DataPoint> point_;
  };
  Iterator begin();  // takes a point
  std::default_sentinel_t end() const { return {}; }

 private:
  DataFlow& unclaimed() const {
    DataFlow& flow = **this;
    if (flow.feeds_another_) refuse_claimed();
    return flow;
  }
  [[noreturn]] void refuse_claimed() const;

  std::shared_ptr<DataFlow> flow_;
};

class FlowStage {
 public:
  explicit FlowStage(std::function<Flow(Flow)> apply) : apply_(std::move(apply)) {}
  Flow operator()(Flow flow) const { return apply_(std::move(flow)); }

 private:
  std::function<Flow(Flow)> apply_;
};

Flow operator|(Flow flow, const FlowStage& stage);
FlowStage operator|(FlowStage first, FlowStage second);  // stages can be composed before there is a source

}  // namespace belfry
#pragma GCC visibility pop
