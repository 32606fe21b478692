// What a checkpoint keeps of a training besides the values: the loop's counters, each monitor's and callback's state.
#pragma once

#include <map>
#include <string>

#include "belfry/session/checkpoint.h"

#pragma GCC visibility push(default)
namespace belfry {

class Trainer;

// The epoch, and the rest in .user.
CheckpointState training_state(Trainer& trainer);

// Where a run stood when its checkpoint was saved.
struct RunPosition {
  int epoch = 0;                // that was running, or had just ended; the one before the first, if none had begun
  std::int64_t steps_done = 0;  // of it
  std::int64_t steps_per_epoch = 0;
  // Its callbacks have had their turn at its end. Not if the run was interrupted in its steps, or in the validation
  // behind them: where that is the last epoch, a training of steps_per_epoch = 0 from `epoch` on makes up for it.
  bool ended = true;
  // The starting_epoch with which nothing is left out: an epoch that has not done all its steps begins again.
  int next_epoch = 1;
};
// Of load_checkpoint(directory).state. A checkpoint that no training saved is taken for one of the end of its epoch.
RunPosition run_position(const CheckpointState& state);
std::string to_string(const RunPosition& position);  // for people

// The reverse, of .user; nothing if it is empty. A state is for the callback of the same name and place, or of the same
// name where there is only one; a warning names those that fit none.
void restore_training_state(Trainer& trainer, const std::map<std::string, std::string>& user);

}  // namespace belfry
#pragma GCC visibility pop
