#include "belfry/dataflow/shuffle.h"

#include <numeric>

#include "belfry/base/check.h"
#include "belfry/dataflow/cancel_flag.h"
#include "belfry/dataflow/indexed_flow.h"
#include "belfry/dataflow/internal/permute.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

// Its indices are already shuffled: index i here is index order_[i] of the source. So batch() can read straight from
// the source's memory, and a second shuffle() sees a flow with random access again.
class ShuffleFlow final : public StageFlow, public RandomAccess {
 public:
  ShuffleFlow(Flow source_flow, std::uint64_t seed)
      : StageFlow(std::move(source_flow), "shuffle", "shuffle", {{"seed", seed}}), seed_(seed) {
    BELFRY_CHECK(access() != nullptr,
                 "[shuffle] expected a source with random access, got '{}', which can be read only in order. Shuffle "
                 "closer to the source, or use shuffle_local().",
                 source().describe());
    set_order(0);
  }

  void start_epoch(std::uint64_t epoch) override {
    cancelled_.lift();
    StageFlow::start_epoch(epoch);
    set_order(epoch);
    position_ = 0;
  }

  // Even if the source does not know its own: its points are counted.
  std::optional<std::int64_t> size() const override { return static_cast<std::int64_t>(order_.size()); }

  std::optional<std::int64_t> next_index() override {
    cancelled_.check(*this);
    if (position_ >= count()) return std::nullopt;
    return position_++;
  }

  std::optional<DataPoint> next() override {
    const std::optional<std::int64_t> index = next_index();
    if (!index) return std::nullopt;
    return at(*index);
  }

  // The source's state holds the epoch and checks that it is the same source; its position has no meaning here.
  FlowState state() const override {
    FlowState state = StageFlow::state();
    state.numbers = {{"seed", seed_}, {"epoch", epoch_}, {"position", static_cast<std::uint64_t>(position_)}};
    return state;
  }

  void cancel() override {
    cancelled_.set();
    StageFlow::cancel();
  }

  void restore(const FlowState& state) override {
    cancelled_.lift();
    StageFlow::restore(state);
    state.expect_number("seed", seed_);
    const std::uint64_t position = state.at("position");
    BELFRY_CHECK(position <= static_cast<std::uint64_t>(count()),
                 "[restore] expected a position of at most {} in 'shuffle', got {}. The state is damaged.", count(),
                 position);
    set_order(state.at("epoch"));
    position_ = static_cast<std::int64_t>(position);
  }

  RandomAccess* random_access() override { return this; }
  std::int64_t count() const override { return access()->count(); }
  DataPoint at(std::int64_t index) const override { return access()->at(order_.at(static_cast<std::size_t>(index))); }
  const std::vector<ComponentSpec>* row_spec() const override { return access()->row_spec(); }
  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    access()->read_row(order_.at(static_cast<std::size_t>(index)), rows);
  }

 private:
  RandomAccess* access() const { return source().random_access(); }

  void set_order(std::uint64_t epoch) {
    const auto points = static_cast<std::size_t>(count());
    if (epoch == epoch_ && order_.size() == points) return;
    epoch_ = epoch;
    order_.resize(points);
    std::iota(order_.begin(), order_.end(), 0);
    permute(order_, mix_seed(seed_, epoch));
  }

  const std::uint64_t seed_;
  std::uint64_t epoch_ = 0;
  std::int64_t position_ = 0;
  std::vector<std::int64_t> order_;  // of epoch_
  CancelFlag cancelled_;
};

}  // namespace

FlowStage shuffle(std::uint64_t seed) {
  return FlowStage([=](Flow source) { return std::make_shared<ShuffleFlow>(std::move(source), seed); });
}

}  // namespace belfry
