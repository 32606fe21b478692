// What a checkpoint keeps of a training besides the values: the loop's counters, each monitor's and callback's state.
#pragma once

#include <map>
#include <string>

#include "belfry/session/checkpoint.h"

namespace belfry {

class Trainer;

// The epoch, and the rest in .user.
CheckpointState training_state(Trainer& trainer);

// The reverse, of .user; nothing if it is empty. A state is for the callback of the same name and place, or of the same
// name where there is only one; a warning names those that fit none.
void restore_training_state(Trainer& trainer, const std::map<std::string, std::string>& user);

}  // namespace belfry
