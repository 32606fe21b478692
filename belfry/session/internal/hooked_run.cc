#include "belfry/session/internal/hooked_run.h"

#include <algorithm>
#include <functional>

#include "belfry/base/check.h"

namespace belfry {
namespace {

void mix(std::size_t& hash, std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29); }

void mix(std::size_t& hash, const Tensor& tensor) {
  mix(hash, std::hash<const void*>()(tensor.node()));
  mix(hash, static_cast<std::size_t>(tensor.output()));
}

std::size_t hash_of(const AskedRun& asked) {
  std::size_t hash = 0;
  for (std::size_t i = 0; i < asked.parties(); ++i) {
    mix(hash, i);
    for (const Fetch& fetch : asked.fetches_of(i)) {
      if (!fetch.name().empty()) mix(hash, std::hash<std::string>()(fetch.name()));
      mix(hash, std::hash<const void*>()(fetch.operation().node()));
      mix(hash, fetch.tensor());
    }
    for (const auto& [tensor, value] : asked.feeds_of(i)) mix(hash, tensor);
  }
  return hash;
}

}  // namespace

std::string AskedRun::name_of(std::size_t party) const {
  return party == 0 ? "the caller" : fmt::format("hook '{}'", hooks[party - 1]->name());
}

HookedRun::HookedRun(const AskedRun& asked, SessionState& session, const Location& where) : parties_(asked.parties()) {
  merge_feeds(asked);
  merge_fetches(asked, session.graph, where);
  std::vector<Fetch> fetches;
  for (const FetchTarget& target : targets_)
    fetches.push_back(target.operation ? Fetch(target.operation) : Fetch(target.tensor));
  callable_ = Callable::make(session, fetches, fed_, {"Session::run", where});
}

void HookedRun::merge_feeds(const AskedRun& asked) {
  std::vector<std::size_t> feeders;  // who gave fed_[i]
  for (std::size_t i = 0; i < asked.parties(); ++i)
    for (const auto& [tensor, value] : asked.feeds_of(i)) {
      const auto at = std::ranges::find(fed_, tensor);
      if (at != fed_.end())
        fail(
            "[HookedSession] expected each tensor to be fed once in a run, got {} from {} and from {}. Feed it in one "
            "of the two.",
            tensor ? fmt::format("'{}'", tensor.name()) : "an empty handle",
            asked.name_of(feeders[static_cast<std::size_t>(at - fed_.begin())]), asked.name_of(i));
      fed_.push_back(tensor);
      feeders.push_back(i);
      parties_[i].feeds.push_back(tensor);
    }
}

void HookedRun::merge_fetches(const AskedRun& asked, const Graph& graph, const Location& where) {
  for (std::size_t i = 0; i < asked.parties(); ++i) {
    Party& party = parties_[i];
    party.fetches = asked.fetches_of(i);
    for (const Fetch& fetch : party.fetches) {
      const auto named = [&] {
        return target_of(fetch, graph, {"HookedSession::run", where, i == 0 ? "" : asked.name_of(i)});
      };
      const FetchTarget target = fetch.name().empty() ? FetchTarget{fetch.tensor(), fetch.operation()} : named();
      const auto at = std::ranges::find(targets_, target);
      party.places.push_back(static_cast<std::size_t>(at - targets_.begin()));
      if (at == targets_.end()) targets_.push_back(target);
    }
  }
}

bool HookedRun::is_for(const AskedRun& asked) const {
  for (std::size_t i = 0; i < asked.parties(); ++i)
    if (asked.fetches_of(i) != parties_[i].fetches ||
        !std::ranges::equal(asked.feeds_of(i), parties_[i].feeds, {}, &Feeds::value_type::first))
      return false;
  return true;
}

std::vector<Array> HookedRun::run(const AskedRun& asked, const RunOptions& options, const Location& where) const {
  std::vector<Array> values;
  values.reserve(fed_.size());
  for (std::size_t i = 0; i < asked.parties(); ++i)
    for (const auto& [tensor, value] : asked.feeds_of(i)) values.push_back(value);
  return callable_.run(values, options, {"Session::run", where});
}

std::vector<Array> HookedRun::of(std::size_t party, const std::vector<Array>& values) const {
  std::vector<Array> out;
  out.reserve(parties_[party].places.size());
  for (const std::size_t place : parties_[party].places) out.push_back(values[place]);
  return out;
}

std::shared_ptr<const HookedRun> HookedRuns::find(const AskedRun& asked) {
  const auto [begin, end] = runs_.equal_range(hash_of(asked));
  for (auto at = begin; at != end; ++at)
    if (at->second.run->is_for(asked)) {
      at->second.used = ++uses_;
      return at->second.run;
    }
  return nullptr;
}

void HookedRuns::keep(const AskedRun& asked, std::shared_ptr<const HookedRun> run, std::size_t most) {
  while (!runs_.empty() && runs_.size() >= most)
    runs_.erase(std::ranges::min_element(runs_, {}, [](const auto& kept) { return kept.second.used; }));
  runs_.emplace(hash_of(asked), Kept{std::move(run), ++uses_});
}

}  // namespace belfry
