#include "belfry/engine/cpu/reduce/reduce_team.h"

#include <algorithm>

#include "belfry/base/parallel.h"

namespace belfry {
namespace {

constexpr std::int64_t kGrain = 32768;  // elements a thread must have to be worth waking
constexpr std::int64_t kLine = 16;      // floats in a cache line
constexpr int kMostParts = 16;          // that one output is cut into

const simd::ReduceKernels& table(Isa isa) { return by_isa(isa, avx2::kReduce, avx512::kReduce); }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// How many parts to divide one reduction of `elements` into.
int parts_for(std::int64_t elements) {
  const std::int64_t most = std::min<std::int64_t>(kMostParts, team_size());
  return static_cast<int>(std::clamp<std::int64_t>(elements / kGrain, 1, most));
}

double join(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::sum_squares: return a + b;
    case ReduceOp::max: return a > b || a != a ? a : b;
    case ReduceOp::min: return a < b || a != a ? a : b;
  }
  return a;
}

void reduce_rows(const AxisReduction& reduction, const simd::ReduceKernels& kernels) {
  const std::int64_t axis = reduction.axis;
  const int parts = parts_for(axis);
  if (reduction.outer >= team_size() || parts == 1) {
    const simd::ReduceRows args{reduction.op, reduction.input, reduction.output, axis, reduction.scale};
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, axis));
    return parallel_for(reduction.outer, grain,
                        [&](std::int64_t begin, std::int64_t end) { kernels.rows(args, begin, end); });
  }
  for (std::int64_t o = 0; o < reduction.outer; ++o) {
    double partial[kMostParts];
    int used = 1;
    parallel_parts(parts, [&](int part, int count) {
      const std::int64_t begin = axis * part / count, end = axis * (part + 1) / count;
      partial[part] = kernels.range(reduction.op, reduction.input + o * axis + begin, end - begin);
      if (part == 0) used = count;
    });
    double total = partial[0];
    for (int part = 1; part < used; ++part) total = join(reduction.op, total, partial[part]);
    reduction.output[o] = static_cast<float>(total * static_cast<double>(reduction.scale));
  }
}

// Columns [column, column + columns) of item o, rows [begin, end) of its axis.
simd::ReduceColumns columns_of(const AxisReduction& reduction, std::int64_t o, std::int64_t column,
                               std::int64_t columns, std::int64_t begin, std::int64_t end) {
  return {.op = reduction.op,
          .input = reduction.input + (o * reduction.axis + begin) * reduction.inner + column,
          .output = reduction.output + o * reduction.inner + column,
          .rows = end - begin,
          .columns = columns,
          .stride = reduction.inner,
          .scale = reduction.scale};
}

void reduce_columns(const AxisReduction& reduction, const simd::ReduceKernels& kernels) {
  const std::int64_t axis = reduction.axis, inner = reduction.inner;
  const std::int64_t tiles = ceil_div(inner, simd::kReduceColumns);
  const std::int64_t even = ceil_div(ceil_div(inner, tiles), kLine) * kLine, width = std::min(inner, even);
  const int parts = parts_for(axis * width);
  if (reduction.outer * tiles >= team_size() || parts == 1) {
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, axis * width));
    return parallel_for(reduction.outer * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t column = item % tiles * width;
        kernels.columns(columns_of(reduction, item / tiles, column, std::min(width, inner - column), 0, axis));
      }
    });
  }
  alignas(64) float partial[kMostParts][simd::kReduceColumns];
  for (std::int64_t item = 0; item < reduction.outer * tiles; ++item) {
    const std::int64_t o = item / tiles, column = item % tiles * width, columns = std::min(width, inner - column);
    int used = 1;
    parallel_parts(parts, [&](int part, int count) {
      simd::ReduceColumns args =
          columns_of(reduction, o, column, columns, axis * part / count, axis * (part + 1) / count);
      args.output = partial[part];
      args.scale = 1;
      kernels.columns(args);
      if (part == 0) used = count;
    });
    for (std::int64_t c = 0; c < columns; ++c) {
      double total = static_cast<double>(partial[0][c]);
      for (int part = 1; part < used; ++part) total = join(reduction.op, total, static_cast<double>(partial[part][c]));
      reduction.output[o * inner + column + c] = static_cast<float>(total * static_cast<double>(reduction.scale));
    }
  }
}

}  // namespace

void reduce_axis(const AxisReduction& reduction, Isa isa) {
  if (reduction.outer == 0 || reduction.inner == 0) return;
  if (reduction.inner == 1) {
    reduce_rows(reduction, table(isa));
  } else {
    reduce_columns(reduction, table(isa));
  }
}

}  // namespace belfry
