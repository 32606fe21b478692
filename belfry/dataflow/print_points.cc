#include "belfry/dataflow/print_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "belfry/array/internal/dispatch.h"
#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

template <class T>
std::string range_of(std::span<const T> values) {
  std::int64_t nans = 0;
  const T *lowest = nullptr, *highest = nullptr;
  for (const T& value : values) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) {
        ++nans;
        continue;
      }
    }
    if (lowest == nullptr || value < *lowest) lowest = &value;
    if (highest == nullptr || *highest < value) highest = &value;
  }
  std::string out;
  if (lowest != nullptr) out += fmt::format(" from {} to {}", *lowest, *highest);
  if (nans > 0) out += fmt::format(" with {} NaN", nans);
  return out;
}

template <class T>
std::string first_of(std::span<const T> values, int count) {
  const auto shown = values.first(std::min(values.size(), static_cast<std::size_t>(count)));
  return fmt::format(" {{{}{}}}", fmt::join(shown, ", "), shown.size() < values.size() ? ", ..." : "");
}

class PrintFlow final : public StageFlow, public RandomAccess {
 public:
  PrintFlow(Flow source, PrintPointsOptions options)
      : StageFlow(std::move(source), "print_points", "print_points", SamePoints{}), options_(std::move(options)) {}

  void start_epoch(std::uint64_t epoch) override {
    StageFlow::start_epoch(epoch);
    index_ = 0;
  }

  std::optional<DataPoint> next() override {
    std::optional<DataPoint> point = source().next();
    if (point) print(*point, index_++);
    return point;
  }

  FlowState state() const override {
    FlowState state = StageFlow::state();
    state.numbers = {{"index", static_cast<std::uint64_t>(index_)}};
    return state;
  }

  void restore(const FlowState& state) override {
    StageFlow::restore(state);
    index_ = static_cast<std::int64_t>(state.at("index"));
  }

  RandomAccess* random_access() override { return source().random_access() != nullptr ? this : nullptr; }
  std::int64_t count() const override { return source().random_access()->count(); }
  DataPoint at(std::int64_t index) const override {
    DataPoint point = source().random_access()->at(index);
    print(point, index);
    return point;
  }
  std::optional<std::int64_t> next_index() override {
    const std::optional<std::int64_t> index = source().random_access()->next_index();
    if (index) ++index_;
    return index;
  }

 private:
  void print(const DataPoint& point, std::int64_t index) const {
    if (index % options_.every != 0 || !log_enabled(LogLevel::info)) return;
    log_info(fmt::format("{}point {} of epoch {}: {}", options_.name.empty() ? "" : "[" + options_.name + "] ", index,
                         source().epoch(), describe_point(point, options_.values)));
  }

  const PrintPointsOptions options_;
  std::int64_t index_ = 0;  // of the next point
};

}  // namespace

std::string describe_point(const DataPoint& point, int values) {
  std::string out;
  for (const Array& component : point) {
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", name_of(component.dtype()), to_string(component.shape()));
    dispatch(component.dtype(), [&]<class T>() {
      out += range_of(component.values<T>());
      if (values > 0) out += first_of(component.values<T>(), values);
    });
  }
  return out.empty() ? "no components" : out;
}

FlowStage print_points(PrintPointsOptions options) {
  BELFRY_CHECK(options.every >= 1, "[print_points] expected .every to be 1 or more, got {}.", options.every);
  BELFRY_CHECK(options.values >= 0, "[print_points] expected 0 or more values of each component, got {}.",
               options.values);
  return FlowStage([=](Flow source) { return std::make_shared<PrintFlow>(std::move(source), options); });
}

}  // namespace belfry
