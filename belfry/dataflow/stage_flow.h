// The base of flows that draw on one other flow. As it stands it passes everything on; a stage overrides what it
// changes, at least next().
#pragma once

#include <string>

#include "belfry/dataflow/claimed_flow.h"

#pragma GCC visibility push(default)
namespace belfry {

class StageFlow : public DataFlow {
 public:
  // `kind` names the stage in states; `label` is how messages show it: "batch", "batch(128)". `parameters` are what
  // else decides which points leave it, for its identity.
  StageFlow(Flow source, std::string kind, std::string label, FlowParameters parameters = {});
  ~StageFlow() override = default;
  StageFlow(const StageFlow&) = delete;
  StageFlow& operator=(const StageFlow&) = delete;

  void start_epoch(std::uint64_t epoch) override { source_->start_epoch(epoch); }
  std::uint64_t epoch() const override { return source_->epoch(); }
  std::optional<std::int64_t> size() const override { return source_->size(); }
  bool endless() const override { return source_->endless(); }
  bool ordered() const override { return source_->ordered(); }
  FlowState state() const override { return {kind_, {}, {source_->state()}, identity_text_}; }
  void restore(const FlowState& state) override;
  FlowIdentity identity() const override { return identity_; }
  std::string describe() const override { return source_->describe() + " | " + label_; }
  void cancel() override { source_->cancel(); }

 protected:
  // For a stage that gives the source's points as they are: it has the source's identity.
  struct SamePoints {};
  StageFlow(Flow source, std::string kind, std::string label, SamePoints same);

  DataFlow& source() const { return *source_; }
  const std::string& kind() const { return kind_; }
  const IdentityText& own_identity() const { return identity_text_; }

 private:
  ClaimedFlow source_;
  std::string kind_, label_;
  FlowIdentity identity_;
  IdentityText identity_text_;
};

}  // namespace belfry
#pragma GCC visibility pop
