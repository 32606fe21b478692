// The base of flows with random access: a source that keeps its points at hand needs only count() and at().
#pragma once

#include <string>
#include <vector>

#include "belfry/dataflow/cancel_flag.h"

#pragma GCC visibility push(default)
namespace belfry {

// Goes through indices 0 .. count() - 1 in each pass. Its state is (count, epoch, position), so that restoring reads
// nothing.
class IndexedFlow : public DataFlow, public RandomAccess {
 public:
  // One that says only its kind is known by its describe() where places count: see FlowIdentity::place.
  explicit IndexedFlow(std::string kind);
  explicit IndexedFlow(FlowIdentity identity);

  void start_epoch(std::uint64_t epoch) override;
  std::uint64_t epoch() const override { return epoch_; }
  std::optional<DataPoint> next() override;
  std::optional<std::int64_t> next_index() override;
  std::optional<std::int64_t> size() const override { return count(); }
  FlowState state() const override;
  void restore(const FlowState& state) override;
  FlowIdentity identity() const override;
  std::string describe() const override { return identity_.kind; }
  RandomAccess* random_access() override { return this; }
  void cancel() override { cancelled_.set(); }

 private:
  const std::string& kind() const { return identity_.kind; }

  FlowIdentity identity_;
  IdentityText identity_text_;
  bool only_kind_ = false;
  std::uint64_t epoch_ = 0;
  std::int64_t position_ = 0;
  CancelFlag cancelled_;
};

// One whose points all have the same components and are made when they are read: needs count() and read_row().
class RowFlow : public IndexedFlow {
 public:
  RowFlow(std::string kind, std::vector<ComponentSpec> spec) : IndexedFlow(std::move(kind)), spec_(std::move(spec)) {}
  RowFlow(FlowIdentity identity, std::vector<ComponentSpec> spec)
      : IndexedFlow(std::move(identity)), spec_(std::move(spec)) {}

  const std::vector<ComponentSpec>* row_spec() const final { return &spec_; }
  DataPoint at(std::int64_t index) const final;

 protected:
  const ComponentSpec& component(std::size_t k) const { return spec_[k]; }

 private:
  std::vector<ComponentSpec> spec_;
};

}  // namespace belfry
#pragma GCC visibility pop
