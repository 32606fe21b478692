// The rule by which another program's weights become ours, for each layer.
#pragma once

#include <string>

#include "belfry/session/internal/weight_roles.h"
#include "belfry/session/internal/weight_rule.h"
#include "belfry/session/name_table.h"

namespace belfry {

// `shape` is the variable's. Throws Error with a text for the end of a sentence if only the user can know the rule.
WeightRule layout_rule(WeightLayout layout, const WeightRole& role, const Shape& shape);

}  // namespace belfry
