// How a training ends early, on purpose.
#pragma once

#include <exception>

#include "belfry/base/error.h"

#pragma GCC visibility push(default)
namespace belfry {

// Thrown by a callback, or by run_step(): training ends here, cleanly. The other callbacks of the same hook still run;
// an unfinished epoch has no after_epoch() and trigger_epoch(), but one whose steps are all done has them, even if its
// last trigger_step() or its after_epoch() stops; after_train() always runs. The text is the reason that train()
// returns. The end of the data (EndOfData) in a callback's own run counts as such a stop.
class StopTraining : public Error {
 public:
  using Error::Error;
};

// A stop or the end of the data: nothing has failed.
inline bool is_clean_end(const std::exception& e) {
  return dynamic_cast<const StopTraining*>(&e) != nullptr || dynamic_cast<const EndOfData*>(&e) != nullptr;
}

}  // namespace belfry
#pragma GCC visibility pop
