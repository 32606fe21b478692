#include "belfry/base/check.h"
#include "belfry/nn/internal/cell_body.h"
#include "belfry/ops/basic.h"

namespace belfry {
namespace {

class StackedCell final : public CellBody {
 public:
  StackedCell(std::shared_ptr<const CellScope> scope, std::vector<RnnCell> cells)
      : scope_(std::move(scope)), cells_(std::move(cells)) {
    for (const RnnCell& cell : cells_)
      sizes_.insert(sizes_.end(), cell.state_sizes().begin(), cell.state_sizes().end());
  }

  const std::string& name() const override { return scope_->name(); }
  const Ints& state_sizes() const override { return sizes_; }
  std::int64_t output_size() const override { return cells_.back().output_size(); }
  bool passes_on(std::size_t state) const override {
    for (const RnnCell& cell : cells_) {
      if (state < cell.state_sizes().size()) return cell.body().passes_on(state);
      state -= cell.state_sizes().size();
    }
    return true;
  }

  RnnStep step(const Tensor& x, const Tensors& state) const override {
    RnnStep out{.output = x};
    each([&](const RnnCell& cell, std::size_t first) {
      const RnnStep r = cell(out.output, part(cell, state, first));
      out.output = r.output;
      out.state.insert(out.state.end(), r.state.begin(), r.state.end());
    });
    return out;
  }

  // Each cell processes the whole sequence, one after the other.
  RnnResult over_time(const CellSequence& s) const override {
    RnnResult out{.output = s.x};
    each([&](const RnnCell& cell, std::size_t first) {
      CellSequence own = s;
      own.x = out.output;
      own.initial = part(cell, s.initial, first);
      const RnnResult r = cell.body().over_time(own);
      out.output = r.output;
      out.last.insert(out.last.end(), r.last.begin(), r.last.end());
    });
    return out;
  }

  std::shared_ptr<const CellBody> begin(const Tensor& x) const override {
    std::vector<RnnCell> begun;
    bool changed = false;
    Tensor input = x;
    for (const RnnCell& cell : cells_) {
      begun.push_back(cell.begin(input));
      changed = changed || &begun.back().body() != &cell.body();
      input = zeros({size_of(x, 0), cell.output_size()}, x.dtype());  // in the shape of the next cell's input
    }
    return changed ? std::make_shared<StackedCell>(scope_, std::move(begun)) : nullptr;
  }

 private:
  // Runs in the stack's scope; `first` is the index of the cell's first state tensor.
  void each(const std::function<void(const RnnCell& cell, std::size_t first)>& visit) const {
    scope_->inside([&] {
      std::size_t first = 0;
      for (const RnnCell& cell : cells_) {
        visit(cell, first);
        first += cell.state_sizes().size();
      }
    });
  }
  static Tensors part(const RnnCell& cell, const Tensors& state, std::size_t first) {
    const auto begin = state.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(cell.state_sizes().size())};
  }

  std::shared_ptr<const CellScope> scope_;
  std::vector<RnnCell> cells_;
  Ints sizes_;
};

}  // namespace

RnnCell cell::stacked(std::string_view name, std::vector<RnnCell> cells, const Location& where) {
  auto scope = std::make_shared<CellScope>(name, "stacked cells", where);
  BELFRY_CHECK(!cells.empty(), "{} expected at least one cell, got none (at {})", scope->title(), to_string(where));
  return RnnCell(std::make_shared<StackedCell>(std::move(scope), std::move(cells)));
}

}  // namespace belfry
