// The memory of values that cross between devices in a run. It lies outside the arenas: parts that are compiled
// separately share it, and plans with other shapes reuse it. (What crosses between parts of one device lies in its
// arena.)
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "belfry/array/array.h"

namespace belfry {

struct Node;

class CrossingMemory {
 public:
  // The output of an operation; a number distinguishes copies of it.
  using Key = std::tuple<const Node*, int, int>;
  // Valid until a larger size is asked for under the same key; then generation() grows.
  void* require(const Key& key, std::size_t bytes);
  std::uint64_t generation() const { return generation_; }
  std::size_t bytes() const;  // the most that was asked for under each key, summed

 private:
  struct Buffer {
    Array memory;
    std::size_t required = 0;
  };
  std::map<Key, Buffer> buffers_;
  std::uint64_t generation_ = 0;
};

}  // namespace belfry
