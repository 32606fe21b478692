// A flow from text, as the command line gives it: "image_folder(photos) | shuffle(seed=7) | batch(32)".
#pragma once

#include <string>
#include <string_view>

#include "belfry/dataflow/flow.h"

namespace belfry::tools {

// See calls.h for the language. Throws on what it does not know, and names what is near.
Flow flow_from_spec(std::string_view spec);

// A line for each source and stage that there is.
std::string flow_spec_help();

}  // namespace belfry::tools
