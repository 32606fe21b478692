#include "belfry/dataflow/shard.h"

#include "belfry/base/check.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/internal/skip_point.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

class ShardFlow final : public StageFlow, public RandomAccess {
 public:
  ShardFlow(Flow source, const ShardOptions& options)
      : StageFlow(std::move(source), "shard", fmt::format("shard({} of {})", options.rank, options.size),
                  {{"rank", options.rank}, {"size", options.size}}),
        rank_(options.rank),
        size_(options.size) {
    check_ordered(StageFlow::source(), kind());
  }

  void start_epoch(std::uint64_t epoch) override {
    pass_.begin([&] { StageFlow::start_epoch(epoch); });
    turn_ = 0;
  }

  std::optional<std::int64_t> size() const override {
    const std::optional<std::int64_t> all = StageFlow::size();
    if (!all) return std::nullopt;
    return ours_of(*all);
  }

  std::optional<DataPoint> next() override {
    return pass_.reading(kind(), [this] {
      std::optional<DataPoint> point;
      if (skip_to_ours()) point = source().next();
      if (point) pass_turn();
      return point;
    });
  }

  FlowState state() const override {
    pass_.check(kind());
    FlowState state = StageFlow::state();
    state.numbers = {{"rank", static_cast<std::uint64_t>(rank_)},
                     {"size", static_cast<std::uint64_t>(size_)},
                     {"turn", static_cast<std::uint64_t>(turn_)}};
    return state;
  }

  void restore(const FlowState& state) override {
    pass_.begin([&] {
      StageFlow::restore(state);
      state.expect_number("rank", static_cast<std::uint64_t>(rank_));
      state.expect_number("size", static_cast<std::uint64_t>(size_));
      const std::uint64_t turn = state.at("turn");
      BELFRY_CHECK(turn < static_cast<std::uint64_t>(size_),
                   "[restore] expected a turn below {} in 'shard', got {}. The state is damaged.", size_, turn);
      turn_ = static_cast<std::int64_t>(turn);
    });
  }

  RandomAccess* random_access() override { return source().random_access() != nullptr ? this : nullptr; }
  std::int64_t count() const override { return ours_of(access().count()); }
  DataPoint at(std::int64_t index) const override { return access().at(index * size_ + rank_); }

  std::optional<std::int64_t> next_index() override {
    return pass_.reading(kind(), [this] {
      std::optional<std::int64_t> index;
      if (skip_to_ours()) index = access().next_index();
      if (!index) return index;
      pass_turn();
      return std::optional(*index / size_);
    });
  }

  const std::vector<ComponentSpec>* row_spec() const override { return access().row_spec(); }
  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    access().read_row(index * size_ + rank_, rows);
  }

 private:
  RandomAccess& access() const { return *source().random_access(); }
  std::int64_t ours_of(std::int64_t all) const { return all / size_ + (all % size_ > rank_ ? 1 : 0); }
  void pass_turn() { turn_ = (turn_ + 1) % size_; }

  bool skip_to_ours() {
    for (; turn_ != rank_; pass_turn())
      if (!skip_point(source())) return false;
    return true;
  }

  const std::int64_t rank_, size_;
  std::int64_t turn_ = 0;  // whose the source's next point is
  PassGuard pass_;         // after an error nobody knows whose turn it is
};

}  // namespace

FlowStage shard(ShardOptions options) {
  BELFRY_CHECK(options.size >= 1 && options.rank >= 0 && options.rank < options.size,
               "[shard] expected a rank from 0 to size - 1, got rank {} of size {}.", options.rank, options.size);
  return FlowStage([=](Flow source) { return std::make_shared<ShardFlow>(std::move(source), options); });
}

}  // namespace belfry
