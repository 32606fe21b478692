// What names may look like.
#pragma once

#include <string_view>

#include "belfry/graph/location.h"

namespace belfry {

// Throws unless the name is made of letters, digits, '_', '-', '.' and single '/' between them: what
// get_tensor_by_name, checkpoints and the exports can rely on. `title` is how the error begins: "[NameScope 'a b']".
void check_name(std::string_view name, std::string_view title, const Location& where);

}  // namespace belfry
