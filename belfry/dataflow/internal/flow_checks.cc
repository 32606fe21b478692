#include "belfry/dataflow/internal/flow_checks.h"

#include "belfry/base/check.h"

namespace belfry {

void check_ends(const DataFlow& flow, std::string_view who) {
  BELFRY_CHECK(!flow.endless(),
               "[{}] expected a flow that ends, got '{}', which does not. Repeat it behind that, or cut it with "
               "fixed_size().",
               who, flow.describe());
}

void check_ordered(const DataFlow& flow, std::string_view who) {
  BELFRY_CHECK(flow.ordered(),
               "[{}] expected points that come in the same order each time, got '{}' with a map() that has .ordered = "
               "false. Leave that one in order, or put it behind.",
               who, flow.describe());
}

}  // namespace belfry
