// map() under another name: for stages that are a map() but have a name of their own in states and errors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "belfry/dataflow/map.h"

#pragma GCC visibility push(default)
namespace belfry {

FlowStage map_as(const std::string& kind, const PointFunction& function, const MapOptions& options);

// Throws "[kind] ..." unless the point has such a component.
void check_component(std::string_view kind, const DataPoint& point, std::size_t index);

}  // namespace belfry
#pragma GCC visibility pop
