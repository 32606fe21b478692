// Numbers that training may change: a learning rate that callbacks schedule, say.
#pragma once

#include <string_view>

#include "belfry/graph/variable.h"

#pragma GCC visibility push(default)
namespace belfry {

namespace collection {
inline constexpr std::string_view kHyperParams = "HYPER_PARAMS";  // all of them
}

// A non-trainable scalar variable, saved in checkpoints. A second call with the same name returns the same variable;
// the value must then be the same too. All towers share it, even those with separate variables.
Variable hyper_param(std::string_view name, float value, const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
