// ptb_lstm: embedding 10000x200, 2 LSTM layers of 200 over 20 steps of 20 rows, fc10000; the state is carried over to
// the next step; SGD 1, gradients clipped to a global norm of 5
#include "benchmarks/hashed.h"
#include "benchmarks/ptb.h"

namespace belfry::bench {

Suite make_ptb_lstm() {
  const PtbSizes sizes;
  Suite s = make_ptb("ptb_lstm", sizes);
  s.steps = 15;
  s.warmup = 4;
  for (int b = 0; b < 4; ++b)
    s.batches.push_back({hashed_labels(b, s.items, sizes.words).reshaped({sizes.time, sizes.batch}),
                         hashed_labels(500 + b, s.items, sizes.words)});
  return s;
}

}  // namespace belfry::bench
