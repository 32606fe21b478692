// Callable: a run whose fetches and feeds are fixed, for loops. After the first call with the same shapes, a call looks
// nothing up and allocates nothing of ours.
//
//   const Callable step = session.make_callable({loss, train}, {image, label});
//   for (DataPoint& point : data) sum += step(point)[0].item();
//
// The results can go to memory that the caller owns:
//
//   std::vector<Array> results = step.make_results(point);
//   step(point, results);
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "belfry/array/array.h"

namespace belfry {

// Copies are the same callable. Must not outlive its session, and is used by the session's thread.
class Callable {
 public:
  Callable() = default;  // empty: usable only after assignment

  // One array for each feed, in that order. The results are the callable's own, in the order of the fetches (an
  // operation's is an empty Array), and overwritten by the next call: clone() what is to be kept, or fed
  // to that call.
  std::span<const Array> operator()(std::span<const Array> feeds = {}) const;

  // Writes the results into the caller's arrays instead. There is one for each fetch, of the fetched tensor's type and
  // shape; an operation's is left alone. They share no memory with each other or with the feeds. All of that is checked
  // before anything runs.
  void operator()(std::span<const Array> feeds, std::span<Array> results) const;

  // New arrays, uninitialised, that fit the results of a call with feeds of these shapes. Runs nothing.
  std::vector<Array> make_results(std::span<const Array> feeds = {}) const;

 private:
  friend class Session;
  struct State;
  explicit Callable(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State& state() const;

  std::shared_ptr<State> state_;
};

}  // namespace belfry
