// One loop for each pointwise op, made of the vector form in its row.
#pragma once

#include "belfry/engine/cpu/pointwise/pointwise_rows.h"
#include "belfry/engine/cpu/pointwise/pointwise_simd.h"
#include "belfry/engine/cpu/vector/row_loops.h"

namespace belfry::BELFRY_ISA {
namespace {

// The sources and the number of an instruction; sources that it does not use may point anywhere.
struct Sources {
  const float *a, *b, *c;
  float value;
};
using PointwiseLoop = void (*)(float* to, const Sources&, std::int64_t n);

template <class Row>
void row_loop(float* to, const Sources& s, std::int64_t n) {
  using F = typename Row::Vector;
  const Vec value = splat(s.value);
  if constexpr (Row::takes_value && Row::sources == 1)
    map_row(to, n, [=](Vec a) { return F()(a, value); }, s.a);
  else if constexpr (Row::takes_value && Row::sources == 2)
    map_row(to, n, [=](Vec a, Vec b) { return F()(a, b, value); }, s.a, s.b);
  else if constexpr (Row::sources == 1)
    map_row(to, n, [](Vec a) { return F()(a); }, s.a);
  else if constexpr (Row::sources == 2)
    map_row(to, n, [](Vec a, Vec b) { return F()(a, b); }, s.a, s.b);
  else
    map_row(to, n, [](Vec a, Vec b, Vec c) { return F()(a, b, c); }, s.a, s.b, s.c);
}

// By PointwiseOp.
template <class... Row>
struct LoopTable {
  static constexpr PointwiseLoop loops[] = {row_loop<Row>...};
};
template <class... Row>
LoopTable<Row...> table_of(const pointwise_rows::PointwiseRows<Row...>&);
using PointwiseLoops = decltype(table_of(pointwise_rows::kPointwiseRows));

}  // namespace
}  // namespace belfry::BELFRY_ISA
