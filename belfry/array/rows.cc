#include "belfry/array/rows.h"

#include "belfry/base/check.h"

namespace belfry {

std::vector<Array> rows_of(const Array& batch) {
  BELFRY_CHECK(batch.shape().rank() > 0, "[rows_of] expected an array of rank 1 or more, got a scalar.");
  const auto count = static_cast<std::size_t>(batch.shape()[0]);
  const Shape shape = batch.shape().slice(1, batch.shape().rank());
  std::vector<Array> rows;
  rows.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    rows.emplace_back(batch.dtype(), shape, static_cast<std::byte*>(batch.owner().get()) + i * (batch.bytes() / count),
                      batch.owner());
  return rows;
}

}  // namespace belfry
