#include "belfry/engine/cpu/reduce/reduce_simd.h"

#include "belfry/engine/cpu/vector/row_loops.h"

namespace belfry::BELFRY_ISA {
namespace {

using simd::ReduceOp;

// prepare() is applied to elements, join() to pairs of results.
struct Sum {
  static constexpr float start = 0;
  static Vec prepare(Vec v) { return v; }
  static Vec join(Vec a, Vec b) { return a + b; }
  static double join(double a, double b) { return a + b; }
};
struct SumSquares : Sum {
  static Vec prepare(Vec v) { return v * v; }
};
struct Max {
  static constexpr float start = -__builtin_inff();
  static Vec prepare(Vec v) { return v; }
  static Vec join(Vec a, Vec b) { return nan_max(a, b); }
  static double join(double a, double b) { return a > b || a != a ? a : b; }
};
struct Min {
  static constexpr float start = __builtin_inff();
  static Vec prepare(Vec v) { return v; }
  static Vec join(Vec a, Vec b) { return nan_min(a, b); }
  static double join(double a, double b) { return a < b || a != a ? a : b; }
};

template <class Body>
auto with_op(ReduceOp op, Body body) {
  switch (op) {
    case ReduceOp::sum: return body(Sum());
    case ReduceOp::sum_squares: return body(SumSquares());
    case ReduceOp::max: return body(Max());
    case ReduceOp::min: break;
  }
  return body(Min());
}

// Pieces of a few thousand elements in f32, the pieces in f64: rounding errors do not grow with the length.
template <class Op>
double reduce_range(Op, const float* x, std::int64_t n) {
  constexpr std::int64_t piece = 4096;
  double total = static_cast<double>(Op::start);
  for (std::int64_t i = 0; i < n; i += piece) {
    const float part = fold_row(
        Op::start, n - i < piece ? n - i : piece, [](Vec v) { return Op::prepare(v); },
        [](Vec a, Vec b) { return Op::join(a, b); }, x + i);
    total = Op::join(total, static_cast<double>(part));
  }
  return total;
}

double range(ReduceOp op, const float* input, std::int64_t n) {
  return with_op(op, [&](auto kind) { return reduce_range(kind, input, n); });
}

void rows(const simd::ReduceRows& args, std::int64_t begin, std::int64_t end) {
  with_op(args.op, [&](auto kind) {
    for (std::int64_t r = begin; r < end; ++r) {
      const double value = reduce_range(kind, args.input + r * args.length, args.length);
      args.output[r] = static_cast<float>(value * static_cast<double>(args.scale));
    }
  });
}

// Rows that lie next to each other are taken as one wide row of up to kReduceColumns elements, whose sums are folded
// at the end: narrow matrices are read at full vector width too. Four wide rows are joined before they meet the sums
// in the cache, and the sums move to `total` now and then, which keeps rounding errors small.
template <class Op>
void reduce_columns(Op, const simd::ReduceColumns& args) {
  constexpr std::int64_t kFlush = 512;
  const bool adjacent = args.stride == args.columns;
  std::int64_t merged = adjacent ? simd::kReduceColumns / args.columns : 1;
  merged = merged < args.rows ? merged : args.rows;
  alignas(64) float sums[simd::kReduceColumns], total[simd::kReduceColumns];
  const auto join = [](Vec a, Vec b) { return Op::join(a, b); };
  const auto clear = [](float* to, std::int64_t n) { map_row(to, n, [] { return splat(Op::start); }); };
  std::int64_t width = (merged > 0 ? merged : 1) * args.columns;
  clear(total, width);
  if (merged > 0) {
    const std::int64_t wide_rows = args.rows / merged, step = adjacent ? width : args.stride;
    const auto one = [](Vec sum, Vec a) { return Op::join(sum, Op::prepare(a)); };
    for (std::int64_t first = 0; first < wide_rows; first += kFlush) {
      const std::int64_t last = first + kFlush < wide_rows ? first + kFlush : wide_rows;
      clear(sums, width);
      const float* x = args.input + first * step;
      std::int64_t r = first;
      for (; r + 4 <= last; r += 4, x += 4 * step) {
        map_row(
            sums, width,
            [](Vec sum, Vec a, Vec b, Vec c, Vec d) {
              const Vec ab = Op::join(Op::prepare(a), Op::prepare(b)), cd = Op::join(Op::prepare(c), Op::prepare(d));
              return Op::join(sum, Op::join(ab, cd));
            },
            sums, x, x + step, x + 2 * step, x + 3 * step);
      }
      for (; r < last; ++r, x += step) map_row(sums, width, one, sums, x);
      map_row(total, width, join, total, sums);
    }
    const std::int64_t done = wide_rows * merged;  // the rest is less than one wide row
    map_row(total, (args.rows - done) * args.columns, one, total, args.input + done * args.stride);
  }
  for (std::int64_t left = merged; left > 1;) {
    const std::int64_t half = (left + 1) / 2;
    map_row(total, (left - half) * args.columns, join, total, total + half * args.columns);
    left = half;
  }
  map_row(args.output, args.columns, [&](Vec v) { return v * args.scale; }, total);
}

void columns(const simd::ReduceColumns& args) {
  with_op(args.op, [&](auto kind) { reduce_columns(kind, args); });
}

}  // namespace

const simd::ReduceKernels kReduce = {rows, range, columns};

}  // namespace belfry::BELFRY_ISA
