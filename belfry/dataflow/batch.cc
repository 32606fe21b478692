#include "belfry/dataflow/batch.h"

#include <fmt/format.h>

#include "belfry/base/check.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/internal/row_stack.h"
#include "belfry/dataflow/internal/stack_points.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

FlowParameters parameters_of(std::int64_t points, const BatchOptions& options) {
  FlowParameters parameters{{"points", points}, {"keep", options.remainder == Remainder::keep}};
  if (options.ragged == Ragged::refuse) return parameters;
  const char* ragged = options.ragged == Ragged::pad ? "pad" : options.ragged == Ragged::pad_all ? "pad_all" : "concat";
  parameters.emplace_back("ragged", ragged);
  if (options.ragged != Ragged::concat) parameters.emplace_back("pad_value", options.pad_value);
  parameters.emplace_back("components", fmt::format("{}", fmt::join(options.ragged_components, " ")));
  return parameters;
}

class BatchFlow final : public StageFlow {
 public:
  BatchFlow(Flow source, std::int64_t points, const BatchOptions& options)
      : StageFlow(std::move(source), "batch", fmt::format("batch({})", points), parameters_of(points, options)),
        points_(static_cast<std::size_t>(points)),
        keep_(options.remainder == Remainder::keep),
        options_(options),
        rows_(points_, "batch"),
        before_(StageFlow::state()) {}

  void start_epoch(std::uint64_t epoch) override {
    components_.reset();
    pass_.begin([&] { StageFlow::start_epoch(epoch); });
  }

  FlowState state() const override {
    FlowState state = pass_.failed() ? before_ : StageFlow::state();
    state.numbers = {{"points", points_}, {"keep", keep_ ? 1u : 0u}};
    return state;
  }

  void restore(const FlowState& state) override {
    components_.reset();
    pass_.begin([&] {
      StageFlow::restore(state);
      state.expect_number("points", points_);
      state.expect_number("keep", keep_ ? 1 : 0);
    });
  }

  std::optional<std::int64_t> size() const override {
    const auto points = static_cast<std::int64_t>(points_);
    const std::optional<std::int64_t> all = StageFlow::size();
    if (!all) return std::nullopt;
    return *all / points + (keep_ && *all % points != 0 ? 1 : 0);
  }

  // If it throws, what was read so far is lost: state() is that before the batch.
  std::optional<DataPoint> next() override {
    pass_.check(kind());
    before_ = StageFlow::state();
    return pass_.reading(kind(), [this] {
      std::optional<DataPoint> out = options_.ragged == Ragged::refuse ? next_stacked() : next_ragged();
      if (out) components_.check(*out);
      return out;
    });
  }

 private:
  bool is_batch(std::size_t points) const { return points == points_ || (keep_ && points > 0); }

  std::optional<DataPoint> next_stacked() {
    rows_.clear();
    RandomAccess* access = source().random_access();
    const std::vector<ComponentSpec>* spec = access != nullptr ? access->row_spec() : nullptr;
    while (rows_.size() < points_ && (spec != nullptr ? read_row(*access, *spec) : add_point())) {
    }
    if (!is_batch(rows_.size())) return std::nullopt;
    return rows_.take();
  }

  // The source writes the point to its place: no array is made for it.
  bool read_row(RandomAccess& access, const std::vector<ComponentSpec>& spec) {
    const std::optional<std::int64_t> index = access.next_index();
    if (index) access.read_row(*index, rows_.add_row(spec));
    return index.has_value();
  }

  bool add_point() {
    const std::optional<DataPoint> point = source().next();
    if (point) rows_.add(*point);
    return point.has_value();
  }

  std::optional<DataPoint> next_ragged() {
    std::vector<DataPoint> points;
    while (points.size() < points_) {
      std::optional<DataPoint> point = source().next();
      if (!point) break;
      points.push_back(std::move(*point));
    }
    if (!is_batch(points.size())) return std::nullopt;
    return stack_points(points, options_, kind());
  }

  const std::size_t points_;
  const bool keep_;
  const BatchOptions options_;
  RowStack rows_;
  FlowState before_;  // the last batch
  PassGuard pass_;
  ComponentCheck components_{"batch", "batches"};
};

}  // namespace

FlowStage batch(std::int64_t points, Remainder remainder) {
  return batch(points, BatchOptions{.remainder = remainder});
}

FlowStage batch(std::int64_t points, BatchOptions options) {
  BELFRY_CHECK(points >= 1, "[batch] expected at least 1 point in a batch, got {}.", points);
  BELFRY_CHECK(options.ragged != Ragged::refuse || options.ragged_components.empty(),
               "[batch] expected a kind of .ragged for the .ragged_components, got Ragged::refuse.");
  return FlowStage([points, options = std::move(options)](Flow source) {
    return std::make_shared<BatchFlow>(std::move(source), points, options);
  });
}

}  // namespace belfry
