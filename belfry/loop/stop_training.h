// How a training ends early, on purpose.
#pragma once

#include "belfry/base/error.h"

namespace belfry {

// Thrown by a callback, or by run_step(): training ends here, cleanly. The other callbacks of the same hook still run;
// an unfinished epoch has no after_epoch() and trigger_epoch(); after_train() always runs. The text is the reason that
// train() returns.
class StopTraining : public Error {
 public:
  using Error::Error;
};

}  // namespace belfry
