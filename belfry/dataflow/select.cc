#include "belfry/dataflow/select.h"

#include <fmt/format.h>

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

bool all_different(std::vector<std::size_t> values) {
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) == values.end();
}

class SelectFlow final : public StageFlow, public RandomAccess {
 public:
  SelectFlow(Flow source_flow, const std::vector<std::size_t>& components)
      : StageFlow(std::move(source_flow), "select", fmt::format("select({})", fmt::join(components, ", ")),
                  {{"components", fmt::format("{}", fmt::join(components, " "))}}),
        components_(components) {
    const RandomAccess* access = source().random_access();
    if (access == nullptr || access->row_spec() == nullptr) return;
    check_components(access->row_spec()->size());
    // A row that is wanted twice would have to be copied: then whole points are as cheap.
    if (!all_different(components_)) return;
    for (const std::size_t k : components_) spec_.push_back((*access->row_spec())[k]);
  }

  std::optional<DataPoint> next() override {
    std::optional<DataPoint> point = source().next();
    if (!point) return std::nullopt;
    return chosen_of(*point);
  }

  RandomAccess* random_access() override { return source().random_access() != nullptr ? this : nullptr; }
  std::int64_t count() const override { return access().count(); }
  std::optional<std::int64_t> next_index() override { return access().next_index(); }
  DataPoint at(std::int64_t index) const override { return chosen_of(access().at(index)); }

  const std::vector<ComponentSpec>* row_spec() const override { return spec_.empty() ? nullptr : &spec_; }

  // The source writes all of its components: those that nobody wants, to scratch memory.
  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    const std::vector<ComponentSpec>& all = *access().row_spec();
    std::vector<void*> places(all.size(), nullptr);
    for (std::size_t k = 0; k < components_.size(); ++k) places[components_[k]] = rows[k];
    std::vector<Array> scratch;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (std::ranges::find(components_, k) == components_.end())
        places[k] = scratch.emplace_back(all[k].dtype, all[k].shape).raw();
    access().read_row(index, places);
  }

 private:
  RandomAccess& access() const { return *source().random_access(); }

  DataPoint chosen_of(const DataPoint& point) const {
    check_components(point.size());
    DataPoint chosen;
    chosen.reserve(components_.size());
    for (const std::size_t k : components_) chosen.push_back(point[k]);
    return chosen;
  }

  void check_components(std::size_t there_are) const {
    for (const std::size_t k : components_)
      BELFRY_CHECK(k < there_are, "[select] expected indices below {}, the number of components of '{}', got {}.",
                   there_are, source().describe(), k);
  }

  const std::vector<std::size_t> components_;
  std::vector<ComponentSpec> spec_;  // of our rows; empty if there are none
};

}  // namespace

FlowStage select(std::vector<std::size_t> components) {
  BELFRY_CHECK(!components.empty(), "[select] expected at least 1 component to keep, got none.");
  return FlowStage([components = std::move(components)](Flow source) {
    return std::make_shared<SelectFlow>(std::move(source), components);
  });
}

}  // namespace belfry
