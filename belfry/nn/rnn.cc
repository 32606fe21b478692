#include "belfry/nn/rnn.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/graph_transaction.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/internal/cell_body.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/gather.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/scan.h"
#include "belfry/ops/strided_slice.h"

namespace belfry {
namespace {

// A step of a sequence in which rows that are at their end keep their state and give zeros.
RnnStep step_within(const RnnCell::Step& step, const Tensor& x, const Tensors& state, const Tensor& goes_on) {
  RnnStep out = step(x, state);
  if (!goes_on) return out;
  const Tensor rows = expand_dims(goes_on, 1);
  out.output = select(rows, out.output, zeros_like(out.output));
  for (std::size_t i = 0; i < state.size(); ++i) out.state[i] = select(rows, out.state[i], state[i]);
  return out;
}

RnnResult write_out(const CellSequence& s, const Tensor& lengths, std::int64_t outputs, const RnnCell::Step& step) {
  RnnResult out{.last = s.initial};
  if (s.x.shape()[0] == 0) {
    out.output = zeros({0, size_of(s.x, 1), outputs}, s.x.dtype());
    return out;
  }
  Tensors given;
  for (const Tensor& x : unstack(s.x, 0)) {
    const auto t = static_cast<std::int32_t>(given.size());
    RnnStep r = step_within(step, x, out.last, lengths ? lengths > t : Tensor());
    given.push_back(r.output);
    out.last = std::move(r.state);
  }
  out.output = belfry::stack(given, 0);
  return out;
}

RnnResult loop(const CellSequence& s, const Tensor& lengths, const RnnCell::Step& step) {
  Tensors sequences{s.x};
  if (lengths) sequences.push_back(range(0, size_of(s.x, 0)));
  const ScanResult r = scan(s.initial, sequences, [&](const Tensors& state, const Tensors& now) {
    const RnnStep out = step_within(step, now[0], state, lengths ? lengths > now[1] : Tensor());
    return ScanStep{.state = out.state, .outputs = {out.output}};
  });
  return {.output = r.outputs[0], .last = r.last};
}

std::string title_of(const char* function, const RnnCell& cell) {
  return fmt::format("[{} of cell '{}']", function, cell.name());
}
std::string line_here() { return fmt::format("(at {})", to_string(current_location({}))); }

void check_sequence(const std::string& title, const Tensor& x, bool batch_first) {
  BELFRY_CHECK(static_cast<bool>(x), "{} expected sequences, got an empty tensor {}", title, line_here());
  BELFRY_CHECK(x.rank() == 3 && x.shape()[2] != kAny && is_float(x.dtype()),
               "{} expected sequences [{}, features] of floats with known features, got {} {}", title,
               batch_first ? "batch, time" : "time, batch", to_string(x), line_here());
}

void check_lengths(const std::string& title, const Tensor& lengths, std::int64_t batch) {
  if (!lengths) return;
  const bool integers = lengths.dtype() == DType::i32 || lengths.dtype() == DType::i64;
  BELFRY_CHECK(integers && compatible(lengths.shape(), Shape{batch}),
               "{} expected lengths of type i32 or i64 and shape {}, got {} {}", title, to_string(Shape{batch}),
               to_string(lengths), line_here());
}

Tensor swap_batch_and_time(const Tensor& x) { return transpose(x, {1, 0, 2}); }

RnnResult run(const char* function, const RnnCell& cell, const Tensor& x, const RnnOptions& o, bool written_out) {
  const std::string title = title_of(function, cell);
  check_sequence(title, x, o.batch_first);
  GraphTransaction transaction(current_graph());
  CellSequence s{.x = o.batch_first ? swap_batch_and_time(x) : x,
                 .initial = o.initial,
                 .lengths = o.lengths,
                 .written_out = written_out};
  check_lengths(title, s.lengths, s.x.shape()[1]);
  BELFRY_CHECK(!written_out || s.x.shape()[0] != kAny,
               "{} expected a known number of steps, got {} {}. rnn() takes any number.", title, to_string(x),
               line_here());
  const Tensor rows = zeros({size_of(s.x, 1), x.shape()[2]}, x.dtype());  // in the shape of a step's input
  if (s.initial.empty()) s.initial = cell.zero_state(rows, x.dtype());
  check_state(cell.body(), s.x, 1, s.initial, title, line_here());
  RnnResult out = cell.begin(rows).body().over_time(s);
  if (o.batch_first) out.output = swap_batch_and_time(out.output);
  transaction.keep();
  return out;
}

}  // namespace

// A longer sequence becomes a loop even if its length is known: each unrolled step has to be planned.
constexpr std::int64_t kMostWrittenOut = 64;

RnnResult step_by_step(const CellSequence& s, std::int64_t outputs, const RnnCell::Step& step) {
  const NameScope scope("steps");
  const std::int64_t time = s.x.shape()[0];
  Tensor lengths = s.lengths;
  // This gather ends the run if a length is outside of [0, time].
  if (lengths) lengths = gather(range(0, size_of(s.x, 0) + 1), reshape(lengths, {size_of(s.x, 1)}), {}, "lengths");
  const bool written_out = s.written_out || (time != kAny && time <= kMostWrittenOut);
  return written_out ? write_out(s, lengths, outputs, step) : loop(s, lengths, step);
}

RnnResult CellBody::over_time(const CellSequence& s) const {
  const RnnCell self(std::shared_ptr<const CellBody>(std::shared_ptr<const CellBody>(), this));  // owns nothing
  return step_by_step(s, output_size(), [&](const Tensor& x, const Tensors& state) { return self(x, state); });
}

RnnResult rnn(const RnnCell& cell, const Tensor& x, const RnnOptions& options, std::string_view name,
              const Location& where) {
  const LocationScope location(where);
  const NameScope scope(name);
  return run("rnn", cell, x, options, false);
}

RnnResult unroll(const RnnCell& cell, const Tensor& x, const RnnOptions& options, std::string_view name,
                 const Location& where) {
  const LocationScope location(where);
  const NameScope scope(name);
  return run("unroll", cell, x, options, true);
}

BidirectionalResult bidirectional(const RnnCell& forward, const RnnCell& backward, const Tensor& x,
                                  const BidirectionalOptions& o, std::string_view name, const Location& where) {
  const LocationScope location(where);
  const std::string title = title_of("bidirectional", forward);
  check_sequence(title, x, o.batch_first);
  const int batch_axis = o.batch_first ? 0 : 1, time_axis = 1 - batch_axis;
  check_lengths(title, o.lengths, x.shape()[batch_axis]);
  const NameScope scope(name);
  GraphTransaction transaction(current_graph());
  const auto turned = [&](const Tensor& t) {
    if (!o.lengths) return reverse(t, {time_axis});
    return reverse_sequence(t, o.lengths, {.sequence_axis = time_axis, .batch_axis = batch_axis});
  };
  const auto options = [&](const Tensors& initial) {
    return RnnOptions{.initial = initial, .lengths = o.lengths, .batch_first = o.batch_first};
  };
  const RnnResult there = rnn(forward, x, options(o.initial_forward), "forward"),
                  back = rnn(backward, turned(x), options(o.initial_backward), "backward");
  BidirectionalResult out{
      .output = concat({there.output, turned(back.output)}, 2), .last_forward = there.last, .last_backward = back.last};
  transaction.keep();
  return out;
}

}  // namespace belfry
