// Places blocks of memory one by one, each at the lowest offset that is free for its whole lifetime.
//
// Time is halved repeatedly, as in a segment tree. Each span of it keeps two sets of bytes: those that some block takes
// at some time of the span, and those that a block takes throughout the span but not throughout its parent. The bytes
// that a new block has to avoid are in the first sets of the few spans that its lifetime consists of, and in the second
// sets of their ancestors. Blocks lie densely, so a set is a few ranges, however many blocks there are.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace belfry {

class Placer {
 public:
  static constexpr std::size_t kAlignment = 64;  // of offsets

  // Both included.
  struct Lifetime {
    int first = 0, last = 0;
  };

  // Times are 0 to `times` - 1.
  explicit Placer(int times);
  // Returns the offset.
  std::size_t place(std::size_t bytes, const Lifetime& life);
  // For a block whose place is fixed, even if something lies there already.
  void take(std::size_t offset, std::size_t bytes, const Lifetime& life);

 private:
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  using Ranges = std::vector<Range>;  // sorted, with space between them
  struct Span {
    Ranges sometimes, always;
  };
  // A span on the way down.
  struct Part {
    std::size_t span = 1;
    int first = 0, last = 0;
    bool within(const Lifetime& life) const { return life.first <= first && last <= life.last; }
    bool meets(const Lifetime& life) const { return life.first <= last && first <= life.last; }
    std::array<Part, 2> halves() const {
      const int middle = (first + last) / 2;
      return {Part{2 * span, first, middle}, Part{2 * span + 1, middle + 1, last}};
    }
  };
  struct Cursor {
    const Range *range = nullptr, *end = nullptr;
  };

  Part whole() const { return {.span = 1, .first = 0, .last = leaves_ - 1}; }
  void collect(const Part& part, const Lifetime& life);
  void put(const Part& part, const Range& range, const Lifetime& life);
  static void add(Ranges& ranges, Range added);

  int leaves_ = 1;           // a power of two
  std::vector<Span> spans_;  // by number: 1 is all the time, i is made of 2i and 2i + 1
  std::vector<Cursor> in_the_way_;
};

}  // namespace belfry
