#include "belfry/engine/cpu/compile/placer.h"

#include <algorithm>
#include <bit>

namespace belfry {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + Placer::kAlignment - 1) / Placer::kAlignment * Placer::kAlignment;
}

}  // namespace

Placer::Placer(int times) : leaves_(static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(times, 1))))) {
  spans_.resize(2 * static_cast<std::size_t>(leaves_));
}

std::size_t Placer::place(std::size_t bytes, const Lifetime& life) {
  in_the_way_.clear();
  collect(whole(), life);
  std::size_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [range, end] : in_the_way_) {
      while (range != end && range->end <= offset) ++range;
      if (range == end || offset + bytes <= range->begin) continue;
      offset = range->end;
      moved = true;
    }
  }
  take(offset, bytes, life);
  return offset;
}

void Placer::take(std::size_t offset, std::size_t bytes, const Lifetime& life) {
  if (bytes > 0) put(whole(), {offset, aligned(offset + bytes)}, life);
}

void Placer::collect(const Part& part, const Lifetime& life) {
  const Span& span = spans_[part.span];
  const Ranges& ranges = part.within(life) ? span.sometimes : span.always;
  if (!ranges.empty()) in_the_way_.push_back({ranges.data(), ranges.data() + ranges.size()});
  if (part.within(life)) return;
  for (const Part& half : part.halves())
    if (half.meets(life)) collect(half, life);
}

void Placer::put(const Part& part, const Range& range, const Lifetime& life) {
  add(spans_[part.span].sometimes, range);
  if (part.within(life)) return add(spans_[part.span].always, range);
  for (const Part& half : part.halves())
    if (half.meets(life)) put(half, range, life);
}

void Placer::add(Ranges& ranges, Range added) {
  const auto first = std::ranges::lower_bound(ranges, added.begin, {}, &Range::end);
  auto last = first;
  for (; last != ranges.end() && last->begin <= added.end; ++last) {
    added.begin = std::min(added.begin, last->begin);
    added.end = std::max(added.end, last->end);
  }
  if (first == last) {
    ranges.insert(first, added);
    return;
  }
  *first = added;
  ranges.erase(first + 1, last);
}

}  // namespace belfry
