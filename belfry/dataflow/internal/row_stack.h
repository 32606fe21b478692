// A batch that grows row by row: each point is copied to its place as it comes, and need not be kept.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "belfry/base/internal/buffer_pool.h"
#include "belfry/dataflow/dataflow.h"

namespace belfry {

class RowStack {
 public:
  // For batches of at most this many rows. `where` names the stage, for messages.
  RowStack(std::size_t rows, std::string where) : rows_(rows), where_(std::move(where)) {}

  // Throws if the point does not match the first one.
  void add(const DataPoint& point);
  // Where the next row is to be written, for a caller that writes it directly. All rows have these components.
  std::vector<void*> add_row(const std::vector<ComponentSpec>& components);

  std::size_t size() const { return size_; }
  DataPoint take();  // the batch; then it is empty again
  void clear();

 private:
  struct Column {
    ComponentSpec row;
    std::size_t row_bytes = 0;
    std::shared_ptr<void> memory{};
  };
  void begin(const std::vector<ComponentSpec>& components);
  void make_room();
  void* place(const Column& column) const;

  const std::size_t rows_;
  const std::string where_;
  BufferPool pool_;  // batches are large, and of one size
  std::vector<Column> columns_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace belfry
