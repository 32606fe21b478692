// Variables chosen by name, as options of layers, costs and optimizers do it.
#pragma once

#include <functional>
#include <string_view>

#include "belfry/graph/variable.h"

namespace belfry {

// Whether a variable's whole name, without the prefix of the current tower, matches the ECMAScript expression. A bad
// one is an error "[who] expected ...".
std::function<bool(const Variable&)> name_pattern(std::string_view who, std::string_view regex, const Location& where);

}  // namespace belfry
