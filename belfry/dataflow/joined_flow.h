// The base of flows that draw on several others. As it stands it passes everything on to all of them; a flow overrides
// what it changes, at least next() and size().
#pragma once

#include <string>
#include <vector>

#include "belfry/dataflow/claimed_flow.h"

#pragma GCC visibility push(default)
namespace belfry {

class JoinedFlow : public DataFlow {
 public:
  // `kind` names the flow in states and messages: "zip(list, list | map)". At least one source. `parameters` are what
  // else decides which points come, for its identity.
  JoinedFlow(std::vector<Flow> sources, std::string kind, FlowParameters parameters = {});
  ~JoinedFlow() override = default;
  JoinedFlow(const JoinedFlow&) = delete;
  JoinedFlow& operator=(const JoinedFlow&) = delete;

  void start_epoch(std::uint64_t epoch) override;
  std::uint64_t epoch() const override { return sources_[0]->epoch(); }
  FlowState state() const override;
  void restore(const FlowState& state) override;
  FlowIdentity identity() const override { return identity_; }
  std::string describe() const override;
  void cancel() override;
  bool ordered() const override;

 protected:
  std::size_t sources() const { return sources_.size(); }
  DataFlow& source(std::size_t index) const { return *sources_[index]; }
  const std::string& kind() const { return kind_; }

  bool all_have_random_access() const;
  bool all_endless() const;
  bool any_endless() const;
  // The points of all sources together; nothing if one does not know its own, or the sum passes 63 bits.
  std::optional<std::int64_t> sum_of_sizes() const;

 private:
  std::vector<ClaimedFlow> sources_;
  std::string kind_;
  FlowIdentity identity_;
  IdentityText identity_text_;
};

}  // namespace belfry
#pragma GCC visibility pop
