// Values by name, as text in a callback's state.
#pragma once

#include <map>
#include <string>

namespace belfry {

using NamedValues = std::map<std::string, double>;

std::string to_text(const NamedValues& values);
NamedValues named_values_from(const std::string& text);  // throws some std::exception

}  // namespace belfry
