// Recurrent cells over the steps of sequences.
//
//   const RnnResult r = rnn(cell::lstm("rnn", {.units = 64}), x, {.lengths = lengths});  // r.output, r.last
//
// x is [time, batch, features], or [batch, time, features] with .batch_first; batch and time may differ from run to
// run. Each layer processes the whole sequence at once where that is possible: LSTM and GRU with the kernels of
// ops/lstm.h and gru.h, with dropout of inputs and outputs around them. A cell that has to run step by step is unrolled
// for a short sequence of known length, and becomes a loop (ops/scan.h) for others.
#pragma once

#include <string_view>

#include "belfry/nn/rnn_cell.h"

#pragma GCC visibility push(default)
namespace belfry {

struct RnnOptions {
  Tensors initial{};  // the state that the sequences begin with; none: zeros
  // [batch], i32 or i64: row k takes the first lengths[k] steps. After these its outputs are 0 and its state does not
  // change. A length outside [0, time] ends the run with a NumericError.
  Tensor lengths{};
  bool batch_first = false;  // x and the output are [batch, time, ...]
};

struct RnnResult {
  Tensor output{};  // of all steps: [time, batch, size]
  Tensors last{};   // the state after the last step of each row
};

RnnResult rnn(const RnnCell& cell, const Tensor& x, const RnnOptions& options = {}, std::string_view name = "rnn",
              const Location& where = Location::current());

// The same with all steps unrolled; the number of steps must be known.
RnnResult unroll(const RnnCell& cell, const Tensor& x, const RnnOptions& options = {}, std::string_view name = "unroll",
                 const Location& where = Location::current());

struct BidirectionalOptions {
  Tensors initial_forward{}, initial_backward{};
  Tensor lengths{};
  bool batch_first = false;
};

struct BidirectionalResult {
  Tensor output{};  // side by side: [time, batch, sizes of both]
  Tensors last_forward{}, last_backward{};
};

// One cell from the first step to the last, another from the last (of each row's own length) to the first.
BidirectionalResult bidirectional(const RnnCell& forward, const RnnCell& backward, const Tensor& x,
                                  const BidirectionalOptions& options = {}, std::string_view name = "bidirectional",
                                  const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
