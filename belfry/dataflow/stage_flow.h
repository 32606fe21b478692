// The base of flows that draw on one other flow. As it stands it passes everything on; a stage overrides what it
// changes, at least next().
#pragma once

#include <string>

#include "belfry/dataflow/claimed_flow.h"

namespace belfry {

class StageFlow : public DataFlow {
 public:
  // `kind` names the stage in states; `label` is how messages show it: "batch", "batch(128)".
  StageFlow(Flow source, std::string kind, std::string label);
  ~StageFlow() override = default;
  StageFlow(const StageFlow&) = delete;
  StageFlow& operator=(const StageFlow&) = delete;

  void start_epoch(std::uint64_t epoch) override { source_->start_epoch(epoch); }
  std::uint64_t epoch() const override { return source_->epoch(); }
  std::optional<std::int64_t> size() const override { return source_->size(); }
  bool endless() const override { return source_->endless(); }
  bool ordered() const override { return source_->ordered(); }
  FlowState state() const override { return {kind_, {}, {source_->state()}}; }
  void restore(const FlowState& state) override;
  std::string describe() const override { return source_->describe() + " | " + label_; }
  void cancel() override { source_->cancel(); }

 protected:
  DataFlow& source() const { return *source_; }
  const std::string& kind() const { return kind_; }

 private:
  ClaimedFlow source_;
  std::string kind_, label_;
};

}  // namespace belfry
