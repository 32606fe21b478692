// The training step of one tower, fed: comparable to those of other frameworks.
#pragma once

#include <memory>

#include "benchmarks/suite.h"

namespace belfry::bench {

struct PlainStep {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Tensors inputs{};
  Tensor loss{};  // of rank 0, or a vector of several
  Operation train{};
};
PlainStep make_plain_step(const Suite& suite);

// Batch `step` of the suite, for the step's inputs.
Feeds feeds_of(const Suite& suite, const PlainStep& plain, int step);
inline const DataPoint& batch_of(const Suite& suite, int step) {
  return suite.batches[static_cast<std::size_t>(step) % suite.batches.size()];
}

}  // namespace belfry::bench
