#include "belfry/dataflow/internal/flow_checks.h"

#include "belfry/base/check.h"

namespace belfry {

void check_ends(const DataFlow& flow, std::string_view who) {
  BELFRY_CHECK(!flow.endless(),
               "[{}] expected a flow that ends, got '{}', which does not. Call repeat() after this instead, or limit "
               "the flow with fixed_size().",
               who, flow.describe());
}

void check_ordered(const DataFlow& flow, std::string_view who) {
  BELFRY_CHECK(flow.ordered(),
               "[{}] expected points in the same order every time, got '{}', which has a map() with .ordered = false. "
               "Keep that map() in order, or move it after this.",
               who, flow.describe());
}

}  // namespace belfry
