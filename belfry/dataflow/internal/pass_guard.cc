#include "belfry/dataflow/internal/pass_guard.h"

#include "belfry/base/check.h"

namespace belfry {

void PassGuard::refuse(std::string_view who) {
  ::belfry::fail(
      "[{}] expected a pass that goes on, got one that ended with an error. Call start_epoch() or restore() first.",
      who);
}

}  // namespace belfry
