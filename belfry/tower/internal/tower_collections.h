// What a tower leaves in the graph's collections when it ends. Internal to belfry/tower.
#pragma once

#include "belfry/graph/collections.h"

namespace belfry {

struct TowerTrace {
  bool training = true;
  bool main = true;
  bool local_variables = false;  // new variables are this tower's state only: never saved, never exported
};

// Sets `now` to `before` plus those of its new items that the rules let stay (see tower_context.h).
void keep_trace(Collections& now, const Collections& before, const TowerTrace& trace);

}  // namespace belfry
