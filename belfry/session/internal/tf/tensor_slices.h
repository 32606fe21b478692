// The parts of a tensor that was saved in parts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/session/internal/tf/tensor_bundle.h"

namespace belfry {

// The slices with the whole axes spelled out. Together they are the tensor, every element once; throws FileError
// otherwise. `where` begins its text.
std::vector<BundleSlice> resolved_slices(const std::string& where, const BundleEntry& whole);

// The shape of a resolved slice.
Shape shape_of(const BundleSlice& slice);

// Copies a part to its place.
void copy_slice(Array& whole, const BundleSlice& slice, const Array& part);

std::string to_string(const BundleSlice& slice);  // [0:4, 2:6]

}  // namespace belfry
