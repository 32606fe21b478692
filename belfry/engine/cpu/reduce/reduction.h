// Folding a dense tensor over some of its axes, for reductions and the gradients of broadcasting. Internal to engine.
//
// A fold is an object with an accumulator type, its start value, take(accumulator, element), join(accumulator,
// accumulator) and finish(accumulator). The work is cut into pieces by the shape alone, and the pieces are joined in a
// fixed order: results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {

using AxisSet = std::array<bool, kMaxRank>;

class Reduction {
 public:
  Reduction(const Shape& shape, const AxisSet& reduced) {
    const Strides dense = dense_strides(shape);
    int last = shape.rank();  // axes from here on are kept: rows of columns_ elements that lie side by side
    while (last > 0 && (!reduced[static_cast<std::size_t>(last - 1)] || shape[last - 1] == 1))
      columns_ *= shape[--last];
    Shape kept_shape, folded_shape;
    std::array<Strides, 1> kept_strides{}, folded_strides{};
    for (int i = 0; i < last; ++i) {
      const bool folds = reduced[static_cast<std::size_t>(i)];
      (folds ? folded_strides : kept_strides)[0][static_cast<std::size_t>((folds ? folded_shape : kept_shape).rank())] =
          dense[static_cast<std::size_t>(i)];
      (folds ? folded_shape : kept_shape).push_back(shape[i]);
    }
    kept_ = StridedLoop<1>(kept_shape, kept_strides);
    folded_ = StridedLoop<1>(folded_shape, folded_strides);
    column_blocks_ = (columns_ + kColumns - 1) / kColumns;
    // A few outputs made of many elements would leave threads idle: such a fold is cut into blocks.
    const std::int64_t items = std::max<std::int64_t>(1, kept_.elements() * column_blocks_);
    const std::int64_t wanted = folded_.elements() * std::min(columns_, kColumns) / kBlockElements;
    blocks_ = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, kMostItems / items));
  }

  std::int64_t outputs() const { return kept_.elements() * columns_; }
  std::int64_t folded() const { return folded_.elements(); }  // elements that make one output

  template <class Fold>
  std::size_t scratch_bytes() const {
    return blocks_ == 1 ? 0 : static_cast<std::size_t>(outputs() * blocks_) * sizeof(typename Fold::Accumulator);
  }

  // x has the shape given above, y one element an output in row-major order.
  template <class T, class Fold>
  void run(const T* x, T* y, void* scratch, const Fold& fold) const {
    using Accumulator = typename Fold::Accumulator;
    auto* partial = static_cast<Accumulator*>(scratch);
    const std::int64_t items = kept_.elements() * column_blocks_ * blocks_;
    const std::int64_t work = std::max<std::int64_t>(1, folded_.elements() * std::min(columns_, kColumns) / blocks_);
    parallel_for(items, kPointwiseGrain / work, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t block = item % blocks_, column = item / blocks_ % column_blocks_ * kColumns;
        const std::int64_t row = item / blocks_ / column_blocks_, first = row * columns_ + column;
        const std::int64_t width = std::min(kColumns, columns_ - column);
        Accumulator sums[kColumns];
        std::fill_n(sums, width, fold.start());
        fold_block(x + kept_.offsets(row)[0] + column, block, width, sums, fold);
        for (std::int64_t i = 0; i < width; ++i) {
          if (blocks_ == 1)
            y[first + i] = fold.finish(sums[i]);
          else
            partial[(first + i) * blocks_ + block] = sums[i];
        }
      }
    });
    if (blocks_ == 1) return;
    parallel_for(outputs(), kPointwiseGrain / blocks_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        Accumulator sum = partial[i * blocks_];
        for (std::int64_t block = 1; block < blocks_; ++block) sum = fold.join(sum, partial[i * blocks_ + block]);
        y[i] = fold.finish(sum);
      }
    });
  }

 private:
  static constexpr std::int64_t kColumns = 256;         // accumulators held at once
  static constexpr std::int64_t kBlockElements = 8192;  // at least this many make a block
  static constexpr std::int64_t kMostItems = 64;
  static constexpr std::int64_t kLanes = 8;  // independent sums, so that a run of elements vectorises

  template <class T, class Fold>
  void fold_block(const T* x, std::int64_t block, std::int64_t width, typename Fold::Accumulator* sums,
                  const Fold& fold) const {
    const std::int64_t n = folded_.elements();
    folded_.run(n * block / blocks_, n * (block + 1) / blocks_,
                [&](std::int64_t, const auto& offsets, std::int64_t count) {
                  const T* from = x + offsets[0];
                  const std::int64_t step = folded_.step(0);
                  if (columns_ == 1 && step == 1) {
                    sums[0] = fold.join(sums[0], fold_run(from, count, fold));
                    return;
                  }
                  for (std::int64_t i = 0; i < count; ++i)
                    for (std::int64_t k = 0; k < width; ++k) sums[k] = fold.take(sums[k], from[i * step + k]);
                });
  }

  template <class T, class Fold>
  static typename Fold::Accumulator fold_run(const T* x, std::int64_t count, const Fold& fold) {
    typename Fold::Accumulator lanes[kLanes];
    std::fill_n(lanes, kLanes, fold.start());
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      for (std::int64_t k = 0; k < kLanes; ++k) lanes[k] = fold.take(lanes[k], x[i + k]);
    for (std::int64_t k = 0; i < count; ++i, ++k) lanes[k] = fold.take(lanes[k], x[i]);
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
      for (std::int64_t k = 0; k < half; ++k) lanes[k] = fold.join(lanes[k], lanes[k + half]);
    return lanes[0];
  }

  StridedLoop<1> kept_{{}, {}}, folded_{{}, {}};
  std::int64_t columns_ = 1, column_blocks_ = 1, blocks_ = 1;
};

// f32 adds up in f64; integers wrap around.
template <class T>
struct SumFold {
  using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  Accumulator start() const { return 0; }
  Accumulator take(Accumulator a, T x) const { return a + static_cast<Accumulator>(x); }
  Accumulator join(Accumulator a, Accumulator b) const { return a + b; }
  T finish(Accumulator a) const { return static_cast<T>(a); }
};

}  // namespace belfry
