// One of several equal parts of a flow.
#pragma once

#include <cstdint>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct ShardOptions {
  std::int64_t rank = 0;  // which part: 0 .. size - 1
  std::int64_t size = 1;  // how many parts
};

// Point i of each pass of the source if i % size == rank: for processes that share the data. Where the source has
// random access, the points of others are not read. The sizes of the parts differ by at most 1; fixed_size() makes them
// equal. After a shuffle() that has the same seed everywhere, each epoch deals the points differently.
FlowStage shard(ShardOptions options);

}  // namespace belfry
#pragma GCC visibility pop
