// A flow from a text of the command line: "image_folder(photos) | shuffle(seed=7) | batch(32)".
#pragma once

#include <string>
#include <string_view>

#include "belfry/dataflow/flow.h"

namespace belfry::tools {

// See calls.h for the language. Throws on unknown names, and suggests similar ones.
Flow flow_from_spec(std::string_view spec);

// A line for each source and stage.
std::string flow_spec_help();

}  // namespace belfry::tools
