// Random values. An element is a pure function of (graph seed, op seed, step, index): the same whatever the number of
// threads. The op's seed comes from its full name and the tower's index.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "belfry/ops/sizes.h"

#pragma GCC visibility push(default)
namespace belfry {

struct UniformOptions {
  double low = 0, high = 1;  // [low, high)
  DType dtype = DType::f32;
};
struct NormalOptions {
  double mean = 0, stddev = 1;
  DType dtype = DType::f32;
  std::optional<std::int64_t> seed{};  // of the op, so that two ops draw the same; default: from its name and tower
};

// New values at every step. A larger or smaller batch begins with the same rows.
Tensor random_uniform(const Sizes& shape, const UniformOptions& options = {}, std::string_view name = "",
                      const Location& where = Location::current());
Tensor random_normal(const Sizes& shape, const NormalOptions& options = {}, std::string_view name = "",
                     const Location& where = Location::current());
// Values further than two deviations from the mean are drawn again.
Tensor truncated_normal(const Sizes& shape, const NormalOptions& options = {}, std::string_view name = "",
                        const Location& where = Location::current());

// Each element becomes 0 with probability `rate`, else x / (1 - rate). Whether it applies (training or not) is the
// caller's decision.
Tensor dropout(const Operand& x, double rate, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
