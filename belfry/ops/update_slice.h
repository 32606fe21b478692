// A box of a tensor, or of a variable, overwritten at a place that a run computes: how a loop or a session keeps what
// it has seen so far (the keys and values of attention, a ring of states).
#pragma once

#include <string>
#include <string_view>

#include "belfry/graph/variable.h"
#include "belfry/ops/sizes.h"

#pragma GCC visibility push(default)
namespace belfry {

struct UpdateSliceOptions {
  std::string remedy{};  // the end of the error about a box outside x, if it needs one
};

// x with `part` in the box that begins at `begin`, one place per axis:
//
//   Tensor seen = update_slice(cache, row, {0, step, 0});   // cache [batch, capacity, n], row [batch, 1, n]
//
// A box that does not lie inside x ends the run with a NumericError. Works in place if nothing else reads x.
Tensor update_slice(const Operand& x, const Operand& part, const Sizes& begin, std::string_view name = "",
                    const UpdateSliceOptions& options = {});

// The same for a variable, which keeps the result: gives its new value, and writes nothing but the box.
Tensor assign_slice(const Variable& variable, const Operand& part, const Sizes& begin, std::string_view name = "",
                    const UpdateSliceOptions& options = {});

}  // namespace belfry
#pragma GCC visibility pop
