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
//
// Random ops draw by the session's own count of runs, or by a given step:
//
//   step(point, {.random_step = n});
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

class Plan;
class Tensor;
class Fetch;
class [[gnu::visibility("hidden")]] HookedRun;
struct [[gnu::visibility("hidden")]] Caller;
struct [[gnu::visibility("hidden")]] SessionState;

struct RunOptions {
  // The step that random ops draw by (hooked runs pass global_step). Without it, the session's own counter, which is
  // a separate sequence, so that inference does not shift training's masks.
  std::optional<std::uint64_t> random_step{};
};

// Copies are the same callable. Must not outlive its session, and is used by the session's thread.
class Callable {
 public:
  Callable() = default;  // empty: usable only after assignment

  // One array for each feed, in that order. The results belong to the callable, in the order of the fetches (an
  // operation's is an empty Array), and the next call overwrites them: clone() what is to be kept, or fed to that call.
  std::span<const Array> operator()(std::span<const Array> feeds = {}, const RunOptions& options = {}) const;

  // Writes the results into the caller's arrays instead. There is one for each fetch, of the fetched tensor's type and
  // shape; an operation's is not touched. They must not share memory with each other or with the feeds. All of that is
  // checked before anything runs.
  void operator()(std::span<const Array> feeds, std::span<Array> results, const RunOptions& options = {}) const;

  // New arrays, uninitialised, that fit the results of a call with feeds of these shapes. Runs nothing.
  std::vector<Array> make_results(std::span<const Array> feeds = {}) const;

 private:
  friend class Session;
  friend class HookedRun;
  struct State;
  // For runs with changing callers: errors name the given one. Missing feeds are an error of run(), whose results are
  // new arrays.
  static Callable make(SessionState& session, const std::vector<Fetch>& fetches, const std::vector<Tensor>& feeds,
                       const Caller& caller);
  std::vector<Array> run(std::span<const Array> feeds, const RunOptions& options, const Caller& caller) const;
  std::shared_ptr<const Plan> plan() const;  // of the last call

  explicit Callable(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State& state() const;

  std::shared_ptr<State> state_;
};

}  // namespace belfry
#pragma GCC visibility pop
