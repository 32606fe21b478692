#include "belfry/dataflow/internal/check_ends.h"

#include "belfry/base/check.h"

namespace belfry {

void check_ends(const DataFlow& flow, std::string_view who) {
  BELFRY_CHECK(!flow.endless(),
               "[{}] expected a flow that ends, got '{}', which does not. Repeat it behind that, or cut it with "
               "fixed_size().",
               who, flow.describe());
}

}  // namespace belfry
