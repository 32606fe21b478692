#include "belfry/dataflow/fan_out.h"

#include "belfry/base/check.h"
#include "belfry/dataflow/internal/fan_hub.h"

namespace belfry {
namespace {

class FanOutFlow final : public DataFlow {
 public:
  FanOutFlow(std::shared_ptr<FanHub> hub, std::size_t consumer) : hub_(std::move(hub)), consumer_(consumer) {}
  ~FanOutFlow() override { hub_->leave(consumer_); }
  FanOutFlow(const FanOutFlow&) = delete;
  FanOutFlow& operator=(const FanOutFlow&) = delete;

  void start_epoch(std::uint64_t epoch) override { hub_->start_epoch(consumer_, epoch); }
  std::optional<DataPoint> next() override { return hub_->next(consumer_); }
  std::uint64_t epoch() const override { return hub_->epoch(consumer_); }
  std::optional<std::int64_t> size() const override { return hub_->size(consumer_); }
  bool endless() const override { return hub_->endless(); }
  FlowState state() const override { return hub_->state(consumer_); }
  void restore(const FlowState& state) override { hub_->restore(consumer_, state); }
  FlowIdentity identity() const override { return hub_->identity(consumer_); }
  std::string describe() const override { return hub_->describe(consumer_); }
  void cancel() override { hub_->cancel(consumer_); }

 private:
  const std::shared_ptr<FanHub> hub_;
  const std::size_t consumer_;
};

}  // namespace

std::vector<Flow> fan_out(Flow flow, FanOutOptions options) {
  BELFRY_CHECK(options.consumers >= 1, "[fan_out] expected 1 or more consumers, got {}.", options.consumers);
  BELFRY_CHECK(options.buffer >= 1, "[fan_out] expected a buffer of at least 1 point, got {}.", options.buffer);
  const auto hub = std::make_shared<FanHub>(std::move(flow), options);
  std::vector<Flow> consumers;
  for (int k = 0; k < options.consumers; ++k)
    consumers.emplace_back(std::make_shared<FanOutFlow>(hub, static_cast<std::size_t>(k)));
  return consumers;
}

}  // namespace belfry
