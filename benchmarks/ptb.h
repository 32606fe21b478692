// A language model as it is usual for Penn Treebank, written with recurrent cells.
#pragma once

#include "benchmarks/suite.h"

namespace belfry::bench {

struct PtbSizes {
  int time = 20, batch = 20, units = 200, words = 10000;
  double bound = 0.1;  // of the first values
};

// Embedding, two LSTM layers, fc to the words; the state is carried from step to step; SGD 1, gradients clipped to a
// global norm of 5. Inputs ids [time, batch] and next [time batch]. Without data.
Suite make_ptb(const std::string& name, const PtbSizes& sizes);

}  // namespace belfry::bench
