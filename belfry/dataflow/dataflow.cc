#include "belfry/dataflow/dataflow.h"

#include "belfry/base/check.h"

namespace belfry {

void RandomAccess::read_row(std::int64_t, std::span<void* const>) const {
  BELFRY_BUG_IF(true, "read_row() of a flow without row_spec()");
}

}  // namespace belfry
