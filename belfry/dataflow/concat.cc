#include "belfry/dataflow/concat.h"

#include "belfry/base/check.h"
#include "belfry/dataflow/joined_flow.h"

namespace belfry {
namespace {

class ConcatFlow final : public JoinedFlow, public RandomAccess {
 public:
  explicit ConcatFlow(std::vector<Flow> flows) : JoinedFlow(std::move(flows), "concat") {}

  void start_epoch(std::uint64_t epoch) override {
    current_ = 0;
    JoinedFlow::start_epoch(epoch);
  }

  // The flows before the current one are at their ends, so their states tell which one is next.
  void restore(const FlowState& state) override {
    current_ = 0;
    JoinedFlow::restore(state);
  }

  std::optional<std::int64_t> size() const override { return sum_of_sizes(); }
  bool endless() const override { return any_endless(); }

  std::optional<DataPoint> next() override {
    for (; current_ < sources(); ++current_)
      if (std::optional<DataPoint> point = source(current_).next()) return point;
    return std::nullopt;
  }

  RandomAccess* random_access() override { return all_have_random_access() ? this : nullptr; }

  std::int64_t count() const override { return points_before(sources()); }

  std::optional<std::int64_t> next_index() override {
    for (; current_ < sources(); ++current_)
      if (const std::optional<std::int64_t> index = access(current_).next_index())
        return points_before(current_) + *index;
    return std::nullopt;
  }

  DataPoint at(std::int64_t index) const override {
    const Place place = find(index);
    return access(place.source).at(place.index);
  }

  const std::vector<ComponentSpec>* row_spec() const override {
    const std::vector<ComponentSpec>* first = access(0).row_spec();
    for (std::size_t i = 1; i < sources() && first != nullptr; ++i) {
      const std::vector<ComponentSpec>* other = access(i).row_spec();
      if (other == nullptr || *other != *first) return nullptr;
    }
    return first;
  }

  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    const Place place = find(index);
    access(place.source).read_row(place.index, rows);
  }

 private:
  struct Place {
    std::size_t source;
    std::int64_t index;
  };

  RandomAccess& access(std::size_t i) const { return *source(i).random_access(); }

  std::int64_t points_before(std::size_t end) const {
    std::int64_t points = 0;
    for (std::size_t i = 0; i < end; ++i) points += access(i).count();
    return points;
  }

  Place find(std::int64_t index) const {
    std::int64_t left = index;
    for (std::size_t i = 0; i < sources(); ++i) {
      const std::int64_t points = access(i).count();
      if (left < points) return {i, left};
      left -= points;
    }
    fail("[concat] expected an index below {}, got {}.", count(), index);
  }

  std::size_t current_ = 0;  // the flows before it are at their ends
};

}  // namespace

Flow concat(std::vector<Flow> flows) { return std::make_shared<ConcatFlow>(std::move(flows)); }

}  // namespace belfry
