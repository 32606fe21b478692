// map() with threads. See map.h for what it promises.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "belfry/dataflow/map.h"

namespace belfry {

Flow parallel_map(Flow source, const std::string& kind, PointFunction function, const MapOptions& options);

// For the identity of a map(), with threads or without. The code of its function cannot be told from another's.
FlowParameters map_parameters(const PointFunction& function, std::uint64_t seed, bool ordered);

// In the state of one that is not in order: the names of the numbers of points that were consumed before others.
std::string consumed_ahead(std::size_t i);
bool is_consumed_ahead(std::string_view name);

}  // namespace belfry
