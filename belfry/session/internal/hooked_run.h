// A run of a HookedSession: what its caller and its hooks ask for, as one Callable. Made once for each set of fetches
// and feeds, so that a step compares handles and looks nothing up.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "belfry/session/hooked_session.h"
#include "belfry/session/internal/session_state.h"

namespace belfry {

// What is asked of one run. Parties are its caller, 0, and then the hooks.
struct AskedRun {
  const std::vector<Fetch>& fetches;  // the caller's
  const Feeds& feeds;
  const std::vector<std::shared_ptr<SessionHook>>& hooks;
  const std::vector<HookRequest>& requests;  // by hook

  std::size_t parties() const { return hooks.size() + 1; }
  const std::vector<Fetch>& fetches_of(std::size_t party) const {
    return party == 0 ? fetches : requests[party - 1].fetches;
  }
  const Feeds& feeds_of(std::size_t party) const { return party == 0 ? feeds : requests[party - 1].feeds; }
  std::string name_of(std::size_t party) const;  // for messages
};

class HookedRun {
 public:
  // Throws, with the names of both, if two parties feed the same tensor. `where` is the call that asked.
  HookedRun(const AskedRun& asked, SessionState& session, const Location& where);

  // Whether the parties ask for the same as those that it was made for: the same handles and names.
  bool is_for(const AskedRun& asked) const;
  std::vector<Array> run(const AskedRun& asked, const RunOptions& options, const Location& where) const;
  // Of the values of a run, those that the party asked for.
  std::vector<Array> of(std::size_t party, const std::vector<Array>& values) const;
  std::shared_ptr<const Plan> plan() const { return callable_.plan(); }

 private:
  void merge_fetches(const AskedRun& asked, const Graph& graph, const Location& where);
  void merge_feeds(const AskedRun& asked);

  struct Party {
    std::vector<Fetch> fetches{};  // as they were spelled
    std::vector<std::size_t> places{};
    std::vector<Tensor> feeds{};
  };
  std::vector<Party> parties_;
  std::vector<FetchTarget> targets_;  // of all, each once
  std::vector<Tensor> fed_;           // of all, each once
  Callable callable_;
};

// The runs that one HookedSession keeps.
class HookedRuns {
 public:
  // The run, if one like it has succeeded before; else null.
  std::shared_ptr<const HookedRun> find(const AskedRun& asked);
  // At most `most` are kept; the least recently used goes first.
  void keep(const AskedRun& asked, std::shared_ptr<const HookedRun> run, std::size_t most);

 private:
  struct Kept {
    std::shared_ptr<const HookedRun> run;
    std::uint64_t used = 0;
  };
  std::unordered_multimap<std::size_t, Kept> runs_;  // by the hash of what is asked
  std::uint64_t uses_ = 0;
};

}  // namespace belfry
