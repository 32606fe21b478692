// map() with threads. See map.h for what it promises.
#pragma once

#include <string>

#include "belfry/dataflow/map.h"

namespace belfry {

Flow parallel_map(Flow source, const std::string& kind, PointFunction function, const MapOptions& options);

}  // namespace belfry
