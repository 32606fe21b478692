#include "belfry/dataflow/sources/function.h"

#include "belfry/base/check.h"
#include "belfry/dataflow/cancel_flag.h"
#include "belfry/dataflow/indexed_flow.h"
#include "belfry/dataflow/internal/rethrow.h"

namespace belfry {
namespace {

std::optional<DataPoint> call(const EpochIndexFunction& function, const std::string& name, std::uint64_t epoch,
                              std::int64_t index) {
  try {
    return function(epoch, index);
  } catch (...) {
    rethrow_from(std::current_exception(), fmt::format("[from_function] the function of '{}' failed at point {} of "
                                                       "epoch {}",
                                                       name, index, epoch));
  }
}

class SizedFunctionFlow final : public IndexedFlow {
 public:
  SizedFunctionFlow(EpochIndexFunction function, std::string name, std::int64_t size)
      : IndexedFlow(FlowIdentity{.kind = std::move(name), .parameters = {{"size", size}}}),
        function_(std::move(function)),
        size_(size) {}

  std::int64_t count() const override { return size_; }
  DataPoint at(std::int64_t index) const override {
    std::optional<DataPoint> point = call(function_, describe(), epoch(), index);
    BELFRY_CHECK(point.has_value(),
                 "[from_function] expected {} points of '{}' in epoch {}, got nothing for point {}. Give the correct "
                 "size, or none.",
                 size_, describe(), epoch(), index);
    return std::move(*point);
  }

 private:
  const EpochIndexFunction function_;
  const std::int64_t size_;
};

class FunctionFlow final : public DataFlow {
 public:
  FunctionFlow(EpochIndexFunction function, std::string name)
      : function_(std::move(function)), name_(std::move(name)), identity_(identity_text({.kind = name_})) {}

  void start_epoch(std::uint64_t epoch) override { go_to(epoch, 0); }
  std::uint64_t epoch() const override { return epoch_; }
  std::optional<std::int64_t> size() const override { return std::nullopt; }
  std::string describe() const override { return name_; }

  std::optional<DataPoint> next() override {
    cancelled_.check(*this);
    std::optional<DataPoint> point = call(function_, name_, epoch_, static_cast<std::int64_t>(position_));
    if (point) ++position_;
    return point;
  }

  FlowState state() const override { return {name_, {{"epoch", epoch_}, {"position", position_}}, {}, identity_}; }
  void restore(const FlowState& state) override {
    state.expect_identity(identity_);
    state.expect(name_, 0);
    go_to(state.at("epoch"), state.at("position"));
  }
  void cancel() override { cancelled_.set(); }

 private:
  void go_to(std::uint64_t epoch, std::uint64_t position) {
    cancelled_.lift();
    epoch_ = epoch;
    position_ = position;
  }

  const EpochIndexFunction function_;
  const std::string name_;
  const IdentityText identity_;
  std::uint64_t epoch_ = 0, position_ = 0;
  CancelFlag cancelled_;
};

}  // namespace

Flow from_function(EpochIndexFunction function, FunctionOptions options) {
  BELFRY_CHECK(function, "[from_function] expected a function, got an empty one.");
  if (!options.size) return std::make_shared<FunctionFlow>(std::move(function), std::move(options.name));
  BELFRY_CHECK(*options.size >= 0, "[from_function] expected a size of 0 or more points, got {}.", *options.size);
  return std::make_shared<SizedFunctionFlow>(std::move(function), std::move(options.name), *options.size);
}

}  // namespace belfry
