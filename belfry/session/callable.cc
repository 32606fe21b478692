#include "belfry/session/callable.h"

#include <algorithm>
#include <cstdint>

#include "belfry/base/check.h"
#include "belfry/session/internal/session_state.h"

namespace belfry {
namespace {

// Memory that a call reads or writes.
struct Extent {
  std::uintptr_t begin = 0, end = 0;
  bool written = false;
};

Extent extent_of(const Array& array, bool written) {
  const auto begin = reinterpret_cast<std::uintptr_t>(array.raw());
  return {begin, begin + array.bytes(), written};
}

// Whether something that is written shares memory with anything else. Sorts.
bool overlap(std::vector<Extent>& extents) {
  std::ranges::sort(extents, {}, &Extent::begin);
  std::uintptr_t read = 0, written = 0;  // the furthest ends of such extents so far
  for (const Extent& extent : extents) {
    if (extent.begin == extent.end) continue;
    if (extent.begin < written || (extent.written && extent.begin < read)) return true;
    std::uintptr_t& last = extent.written ? written : read;
    last = std::max(last, extent.end);
  }
  return false;
}

}  // namespace

// Everything that is needed between calls. The plan is made again when the shapes fed or the variables' layouts change.
struct Callable::State {
  State(SessionState& s, const std::vector<Fetch>& fetches, const std::vector<Tensor>& feeds, const Caller& maker)
      : session(s), caller{"callable", maker.where}, signature(s.signature(fetches, feeds, maker, &places)) {
    caller.done = "callable made";  // a call's own line is not known: nothing in it may cost time
    takes = s.takes_of(signature);
    given = signature.feeds.size();
    signature.feeds.insert(signature.feeds.end(), takes.tensors.begin(), takes.tensors.end());
    inputs.resize(signature.feeds.size());
    outputs.resize(signature.fetches.size());
    extents.reserve(inputs.size() + places.size());
  }

  // Lives as long as a call, and drops the points that the call took.
  struct Use {
    Use(State& s, const Caller& user) : session(s.session.user, user), state(s) {}
    ~Use() { state.all.clear(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    const SessionUse session;
    State& state;
  };

  void check_feeds(std::span<const Array> feeds, const Caller& user) const {
    BELFRY_CHECK(feeds.size() == given,
                 "[callable] expected {} feeds, got {} (made at {}). Pass an array for each tensor that "
                 "make_callable() was given, in that order.",
                 given, feeds.size(), to_string(caller.where));
    for (std::size_t i = 0; i < feeds.size(); ++i)
      if (!planned_for(i, feeds[i])) session.check_feed(signature.feeds[i], feeds[i], user);
  }

  // The caller's feeds and the points that the run takes, which it does not wait for if a feed is wrong.
  std::span<const Array> inputs_with(std::span<const Array> feeds, TakenPoints& points, const Caller& user) {
    check_feeds(feeds, user);
    if (takes.nodes.empty()) {
      session.queues.forget_taken();
      return feeds;
    }
    all.assign(feeds.begin(), feeds.end());
    session.take(signature, takes, points, all, user);
    return all;
  }

  bool planned_for(std::size_t i, const Array& feed) const {
    return i < signature.fed.size() && feed.shape() == signature.fed[i].shape && feed.dtype() == signature.fed[i].dtype;
  }

  // If the shapes are the same, only the plan is replaced: a run that finds it out of date has already bound its
  // results.
  void bind(std::span<const Array> feeds, const Caller& user) {
    bool same = signature.fed.size() == feeds.size();
    for (std::size_t i = 0; i < feeds.size() && same; ++i) same = planned_for(i, feeds[i]);
    if (!same) {
      std::vector<TensorSpec> fed;
      for (const Array& feed : feeds) fed.push_back({"", feed.dtype(), feed.shape()});
      plan = nullptr;
      own.clear();
      signature.fed = std::move(fed);
    }
    if (!plan || plan->generation() != session.generation()) plan = session.plan_for(signature, user);
  }

  // Of a fetch; nothing for an operation, or for a value whose shape becomes known only while a call runs.
  std::optional<TensorInfo> info_of(int place) const {
    return place == kNone ? std::nullopt : plan->fetched()[static_cast<std::size_t>(place)];
  }

  std::vector<Array> make_results() const {
    std::vector<Array> out;
    for (int place : places) {
      const std::optional<TensorInfo> info = info_of(place);
      out.push_back(info ? Array(info->dtype, info->shape) : Array());
    }
    return out;
  }

  void check_result(std::size_t place, const TensorInfo& info, const Array& result) const {
    BELFRY_CHECK(
        result.dtype() == info.dtype && result.shape() == info.shape,
        "[callable] expected {} {} for the value of '{}', got {} {} (made at {}). {}", name_of(info.dtype),
        to_string(info.shape), signature.fetches[place].name(), name_of(result.dtype()), to_string(result.shape()),
        to_string(caller.where),
        plan->continues() ? "Its shape follows from data: call without results, and use the ones returned." : kRemedy);
  }

  void check_results(std::span<const Array> feeds, std::span<const Array> results) {
    BELFRY_CHECK(results.size() == places.size(),
                 "[callable] expected {} results, one for each fetch, got {} (made at {}). {}", places.size(),
                 results.size(), to_string(caller.where), kRemedy);
    extents.clear();
    for (const Array& feed : feeds) extents.push_back(extent_of(feed, false));
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (places[i] == kNone) continue;
      if (const std::optional<TensorInfo> info = info_of(places[i]))
        check_result(static_cast<std::size_t>(places[i]), *info, results[i]);
      extents.push_back(extent_of(results[i], true));
    }
    BELFRY_CHECK(!overlap(extents),
                 "[callable] expected results in separate memory, got some that share memory with each other or with a "
                 "feed (made at {}). clone() what is fed.",
                 to_string(caller.where));
  }

  // `ours`: whether the results may be replaced by other arrays.
  void run(std::span<const Array> feeds, std::span<Array> results, bool ours, std::optional<std::uint64_t> step,
           TakenPoints& points, const Caller& user) {
    for (std::size_t i = 0; i < feeds.size(); ++i) inputs[i] = feeds[i].raw();
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i] != kNone) outputs[static_cast<std::size_t>(places[i])] = results[i].raw();
    const auto late = [&](std::size_t fetch, const TensorInfo& info) { return place_late(fetch, info, results, ours); };
    while (!session.execute(*plan, step, inputs, outputs, late, points, user)) bind(feeds, user);
  }

  // The place of a value whose shape becomes known only while a call runs; a result of ours is replaced to fit.
  void* place_late(std::size_t fetch, const TensorInfo& info, std::span<Array> results, bool ours) const {
    const auto at = std::ranges::find(places, static_cast<int>(fetch)) - places.begin();
    Array& result = results[static_cast<std::size_t>(at)];
    const bool fits = result.dtype() == info.dtype && result.shape() == info.shape;
    if (ours && !fits) result = Array(info.dtype, info.shape);
    check_result(fetch, info, result);
    return result.raw();
  }

  static constexpr const char* kRemedy = "make_results() makes arrays that fit.";

  SessionState& session;
  Caller caller;            // of the public calls
  std::vector<int> places;  // by fetch: its index among the plan's results, or kNone
  Signature signature;      // `fed` is empty before the first call
  std::shared_ptr<Plan> plan;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<Extent> extents;
  std::size_t given = 0;  // feeds that the caller brings; the others are taken
  Takes takes;
  std::vector<Array> all;  // the caller's feeds and what was taken
  std::vector<Array> own;  // results for calls that pass none; empty until the first of them
};

Callable::State& Callable::state() const {
  BELFRY_CHECK(state_ != nullptr,
               "[callable] expected one from make_callable(), got an empty handle. Assign it first.");
  return *state_;
}

void Callable::operator()(std::span<const Array> feeds, std::span<Array> results, const RunOptions& options) const {
  State& s = state();
  const State::Use use(s, s.caller);
  TakenPoints points;
  const std::span<const Array> inputs = s.inputs_with(feeds, points, s.caller);
  s.bind(inputs, s.caller);
  s.check_results(inputs, results);
  s.run(inputs, results, false, options.random_step, points, s.caller);
}

std::span<const Array> Callable::operator()(std::span<const Array> feeds, const RunOptions& options) const {
  State& s = state();
  const State::Use use(s, s.caller);
  TakenPoints points;
  const std::span<const Array> inputs = s.inputs_with(feeds, points, s.caller);
  s.bind(inputs, s.caller);
  if (s.own.size() != s.places.size()) s.own = s.make_results();
  s.check_results(inputs, s.own);
  s.run(inputs, s.own, true, options.random_step, points, s.caller);
  return s.own;
}

std::vector<Array> Callable::run(std::span<const Array> feeds, const RunOptions& options, const Caller& caller) const {
  State& s = state();
  const State::Use use(s, caller);
  TakenPoints points;
  const std::span<const Array> inputs = s.inputs_with(feeds, points, caller);
  s.bind(inputs, caller);
  std::vector<Array> results = s.make_results();
  s.run(inputs, results, true, options.random_step, points, caller);
  return results;
}

std::shared_ptr<const Plan> Callable::plan() const { return state().plan; }

std::vector<Array> Callable::make_results(std::span<const Array> feeds) const {
  State& s = state();
  const State::Use use(s, s.caller);
  BELFRY_CHECK(s.takes.nodes.empty(),
               "[callable] expected shapes that follow from the feeds, got a run that takes points from queues (made "
               "at {}). Call it without results: it then makes its own.",
               to_string(s.caller.where));
  s.check_feeds(feeds, s.caller);
  s.bind(feeds, s.caller);
  BELFRY_CHECK(!s.plan->continues(),
               "[callable] expected shapes that follow from the feeds, got a run in which some follow from data (made "
               "at {}). Call it without results: it then makes its own.",
               to_string(s.caller.where));
  return s.make_results();
}

Callable Session::make_callable(const std::vector<Fetch>& fetches, const std::vector<Tensor>& feeds,
                                const Location& where) {
  const Caller caller{"make_callable", where};
  const SessionUse use(state_->user, caller);
  Callable callable(std::make_shared<Callable::State>(*state_, fetches, feeds, caller));
  state_->check_complete(callable.state().signature, caller);
  return callable;
}

Callable Callable::make(SessionState& session, const std::vector<Fetch>& fetches, const std::vector<Tensor>& feeds,
                        const Caller& caller) {
  const SessionUse use(session.user, caller);
  return Callable(std::make_shared<State>(session, fetches, feeds, caller));
}

}  // namespace belfry
