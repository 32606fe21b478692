#include "belfry/dataflow/cancel_flag.h"

#include "belfry/base/check.h"

namespace belfry {

void CancelFlag::refuse(const DataFlow& flow) {
  fail<Cancelled>("[cancel] expected a point of '{}', but the flow was cancelled.", flow.describe());
}

}  // namespace belfry
