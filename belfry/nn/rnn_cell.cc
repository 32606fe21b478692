#include "belfry/nn/rnn_cell.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/graph_transaction.h"
#include "belfry/graph/internal/name_check.h"
#include "belfry/graph/scope.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/nn/internal/cell_body.h"
#include "belfry/ops/basic.h"

namespace belfry {
namespace {

std::string title_of(const CellBody& cell) { return fmt::format("[cell '{}']", cell.name()); }

std::string describe_state(const CellBody& cell) {
  std::string out;
  for (const std::int64_t size : cell.state_sizes()) out += fmt::format("{}[batch, {}]", out.empty() ? "" : ", ", size);
  return fmt::format("{} tensors ({})", cell.state_sizes().size(), out);
}

void check_input(const CellBody& cell, const Tensor& x, const std::string& line) {
  BELFRY_CHECK(static_cast<bool>(x), "{} expected an input, got an empty tensor {}", title_of(cell), line);
  BELFRY_CHECK(
      x.rank() == 2 && x.shape()[1] != kAny && is_float(x.dtype()),
      "{} expected an input [batch, features] of floats with known features, got {} {}. rnn() takes sequences.",
      title_of(cell), to_string(x), line);
}

void check_result(const CellBody& cell, const Tensor& x, const RnnStep& step, const std::string& line) {
  const Shape wanted{x.shape()[0], cell.output_size()};
  BELFRY_CHECK(step.output && step.output.rank() == 2 && compatible(step.output.shape(), wanted),
               "{} expected its step to return an output {}, got {} {}", title_of(cell), to_string(wanted),
               step.output ? to_string(step.output) : "an empty tensor", line);
  check_state(cell, x, 0, step.state, title_of(cell) + " (its step's result)", line);
}

// A cell made of a function.
class FunctionCell final : public CellBody {
 public:
  FunctionCell(std::string_view name, RnnCellOptions options, RnnCell::Step step, const Location& where)
      : scope_(name, "cell", where), options_(std::move(options)), step_(std::move(step)) {
    BELFRY_CHECK(options_.output > 0, "{} expected .output above 0, got {} (at {})", scope_.title(), options_.output,
                 to_string(where));
    for (const std::int64_t size : options_.state)
      BELFRY_CHECK(size > 0, "{} expected sizes above 0 in .state, got {} (at {})", scope_.title(), size,
                   to_string(where));
    BELFRY_CHECK(static_cast<bool>(step_), "{} expected a function, got an empty one (at {})", scope_.title(),
                 to_string(where));
  }

  const std::string& name() const override { return scope_.name(); }
  const Ints& state_sizes() const override { return options_.state; }
  std::int64_t output_size() const override { return options_.output; }
  RnnStep step(const Tensor& x, const Tensors& state) const override {
    RnnStep out;
    scope_.inside([&] { out = step_(x, state); });
    return out;
  }

 private:
  CellScope scope_;
  RnnCellOptions options_;
  RnnCell::Step step_;
};

}  // namespace

CellScope::CellScope(std::string_view name, const char* kind, const Location& where)
    : name_(name), kind_(kind), where_(where) {
  BELFRY_CHECK(!name_.empty(), "[{}] expected a name, got an empty one (at {}). Its variables are named after it.",
               kind, to_string(where));
  check_name(name, title(), where);
}

std::string CellScope::title() const { return fmt::format("[{} '{}']", kind_, name_); }

void CellScope::inside(const std::function<void()>& build) const {
  const OpenedVariableScope& around = get_variable_scope();
  const std::pair<GraphId, std::string> place{current_graph().outermost().id(), around.name()};
  const bool again = [&] {
    const MutexLock lock(mutex_);
    return made_in_.contains(place);
  }();
  // Automatic, not `yes`: the variables of an earlier call may have been removed when a definition failed later.
  const VariableScope scope(name_, {.reuse = again && around.reuse() == Reuse::no ? Reuse::automatic : Reuse::no},
                            where_);
  build();
  const MutexLock lock(mutex_);
  made_in_.insert(place);
}

void check_state(const CellBody& cell, const Tensor& x, int batch_axis, const Tensors& state, const std::string& title,
                 const std::string& line) {
  const Ints& sizes = cell.state_sizes();
  BELFRY_CHECK(state.size() == sizes.size(), "{} expected a state of {}, got {} {}. zero_state() makes one.", title,
               describe_state(cell), state.size(), line);
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Shape wanted{x.shape()[batch_axis], sizes[i]};
    BELFRY_CHECK(state[i] && state[i].dtype() == x.dtype() && compatible(state[i].shape(), wanted),
                 "{} expected {} {} as number {} of the state, got {} {}", title, name_of(x.dtype()), to_string(wanted),
                 i, state[i] ? to_string(state[i]) : "an empty tensor", line);
  }
}

RnnCell::RnnCell(std::string_view name, const RnnCellOptions& options, Step step, const Location& where)
    : body_(std::make_shared<FunctionCell>(name, options, std::move(step), where)) {}

RnnStep RnnCell::operator()(const Tensor& x, const Tensors& state, const Location& where) const {
  const LocationScope location(where);
  const std::string line = fmt::format("(at {})", to_string(current_location(where)));
  check_input(*body_, x, line);
  check_state(*body_, x, 0, state, title_of(*body_), line);
  GraphTransaction transaction(current_graph());
  const RnnStep out = body_->step(x, state);
  check_result(*body_, x, out, line);
  transaction.keep();
  return out;
}

const std::string& RnnCell::name() const { return body_->name(); }
const Ints& RnnCell::state_sizes() const { return body_->state_sizes(); }
std::int64_t RnnCell::output_size() const { return body_->output_size(); }

Tensors RnnCell::zero_state(const Tensor& rows, DType dtype) const {
  Tensors out;
  for (const std::int64_t size : state_sizes()) out.push_back(zeros({size_of(rows, 0), size}, dtype));
  return out;
}

RnnCell RnnCell::begin(const Tensor& x) const {
  check_input(*body_, x, fmt::format("(at {})", to_string(current_location({}))));
  const std::shared_ptr<const CellBody> begun = body_->begin(x);
  return begun ? RnnCell(begun) : *this;
}

}  // namespace belfry
