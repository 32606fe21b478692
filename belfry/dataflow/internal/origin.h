// Where an array comes from, for messages: the path of the file it was read from travels with its memory.
#pragma once

#include <memory>
#include <string>

#include "belfry/dataflow/dataflow.h"

#pragma GCC visibility push(default)
namespace belfry {

using Origin = std::shared_ptr<const std::string>;  // null: not known

// The same array with its origin. Arrays that share its memory have it too; a clone() has none.
Array with_origin(Array array, Origin origin);

Origin origin_of(const Array& array);
Origin origin_of(const DataPoint& point);  // that of the first component that has one

}  // namespace belfry
#pragma GCC visibility pop
