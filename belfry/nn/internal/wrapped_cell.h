// A cell around another one, with the same name, state and size of output.
#pragma once

#include "belfry/nn/internal/cell_body.h"

namespace belfry {

class WrappedCell : public CellBody {
 public:
  explicit WrappedCell(RnnCell around) : around_(std::move(around)) {}

  const std::string& name() const override { return around_.name(); }
  const Ints& state_sizes() const override { return around_.state_sizes(); }
  std::int64_t output_size() const override { return around_.output_size(); }
  bool passes_on(std::size_t state) const override { return around_.body().passes_on(state); }

 protected:
  const RnnCell& around() const { return around_; }

 private:
  RnnCell around_;
};

}  // namespace belfry
