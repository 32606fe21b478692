// What a checkpoint keeps of a training besides the variables' values: the loop's counters, each monitor's and
// callback's state.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "belfry/session/checkpoint.h"

#pragma GCC visibility push(default)
namespace belfry {

class Trainer;

// The epoch, and the rest in .user.
CheckpointState training_state(Trainer& trainer);

// How far a run had come when its checkpoint was saved.
struct RunPosition {
  int epoch = 0;  // the one that was running or had just ended; the one before the first if none had begun
  std::int64_t steps_done = 0;  // of it
  std::int64_t steps_per_epoch = 0;
  // Whether its callbacks were called at its end. Not so if the run was interrupted in its steps, or in the validation
  // after them: if that is the last epoch, a training with steps_per_epoch = 0 that starts at `epoch` makes up for it.
  bool ended = true;
  // The epoch that a continued run begins with: this one as long as it has not ended.
  int next_epoch = 1;
  // The hook of the epoch that comes next or that an interruption cut short, and the callback (in the order of the
  // training, by its name in the state) whose turn is next; none between two steps, or if the epoch has ended.
  std::string hook{}, callback{};
  std::vector<std::string> deferred{};  // the callbacks before it that have to defer again (Callback::defer_again())
};
// From load_checkpoint(directory).state. A checkpoint that was not saved in a training counts as saved at the end of
// its epoch.
RunPosition run_position(const CheckpointState& state);
std::string to_string(const RunPosition& position);  // as readable text

// The reverse, from .user; does nothing if that is empty. A state goes to the callback of the same name and place, or
// of the same name if there is only one; a warning names states without a callback.
enum class RestoreData : std::uint8_t { yes, no };  // the position in the data too
void restore_training_state(Trainer& trainer, const std::map<std::string, std::string>& user,
                            RestoreData data = RestoreData::yes);

}  // namespace belfry
#pragma GCC visibility pop
