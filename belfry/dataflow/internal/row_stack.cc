#include "belfry/dataflow/internal/row_stack.h"

#include <algorithm>
#include <cstring>

#include "belfry/base/check.h"
#include "belfry/dataflow/internal/stack_points.h"

namespace belfry {
namespace {

// What is allocated at first for one component: memory that is not touched costs nothing, but a batch that is larger
// than all data must not ask for more than there is.
constexpr std::size_t kMostAtFirst = std::size_t{1} << 28;

std::vector<ComponentSpec> components_of(const DataPoint& point) {
  std::vector<ComponentSpec> out;
  for (const Array& component : point) out.push_back({component.dtype(), component.shape()});
  return out;
}

}  // namespace

void RowStack::add(const DataPoint& point) {
  if (size_ == 0) {
    begin(components_of(point));
  } else {
    check_count(where_, columns_.size(), point.size(), size_);
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      check_dtype(where_, k, columns_[k].row.dtype, point[k].dtype(), size_);
      check_shape(where_, k, columns_[k].row.shape, point[k].shape(), size_);
    }
  }
  make_room();
  for (std::size_t k = 0; k < columns_.size(); ++k)
    if (columns_[k].row_bytes > 0) std::memcpy(place(columns_[k]), point[k].raw(), columns_[k].row_bytes);
  ++size_;
}

std::vector<void*> RowStack::add_row(const std::vector<ComponentSpec>& components) {
  if (size_ == 0) begin(components);
  make_room();
  std::vector<void*> out;
  for (const Column& column : columns_) out.push_back(place(column));
  ++size_;
  return out;
}

void RowStack::begin(const std::vector<ComponentSpec>& components) {
  columns_.clear();
  capacity_ = 0;
  for (const ComponentSpec& row : components)
    columns_.push_back({row, static_cast<std::size_t>(row.shape.elements()) * size_of(row.dtype)});
}

void RowStack::make_room() {
  if (size_ < capacity_) return;
  std::size_t wanted = std::min(rows_, 2 * capacity_);
  if (capacity_ == 0) {
    wanted = rows_;
    for (const Column& column : columns_)
      wanted = std::min(wanted, std::max<std::size_t>(1, kMostAtFirst / std::max<std::size_t>(1, column.row_bytes)));
  }
  for (Column& column : columns_) {
    const std::shared_ptr<void> old = std::exchange(column.memory, pool_.take(wanted * column.row_bytes));
    if (size_ * column.row_bytes > 0) std::memcpy(column.memory.get(), old.get(), size_ * column.row_bytes);
  }
  capacity_ = wanted;
}

void* RowStack::place(const Column& column) const {
  return static_cast<std::byte*>(column.memory.get()) + size_ * column.row_bytes;
}

DataPoint RowStack::take() {
  DataPoint out;
  for (Column& column : columns_) {
    Shape shape{static_cast<std::int64_t>(size_)};
    for (const std::int64_t d : column.row.shape) shape.push_back(d);
    void* data = column.memory.get();
    out.emplace_back(column.row.dtype, shape, data, std::move(column.memory));
  }
  clear();
  return out;
}

void RowStack::clear() {
  columns_.clear();
  size_ = capacity_ = 0;
}

}  // namespace belfry
