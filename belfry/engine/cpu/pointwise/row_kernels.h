// Kernels of the scalar forms in the pointwise ops' rows, kind by kind.
#pragma once

#include "belfry/engine/cpu/pointwise/pointwise_rows.h"

namespace belfry {
namespace {

using pointwise_rows::RowKind;

template <RowKind kind, class Define, class... Row>
bool for_each_of(const pointwise_rows::PointwiseRows<Row...>& rows, Define define) {
  const auto one = [&]<class R>(const R& row) {
    if constexpr (R::kind == kind) define(row);
  };
  (one(static_cast<const Row&>(rows)), ...);
  return true;
}

// Calls `define` with each row of the kind.
template <RowKind kind, class Define>
bool for_rows(Define define) {
  return for_each_of<kind>(pointwise_rows::kPointwiseRows, define);
}

}  // namespace
}  // namespace belfry
