// A number in another type, defined for every value: what Array, cast() and the kernels agree on.
#pragma once

#include <limits>
#include <type_traits>

namespace belfry {

// Floats become integers towards zero; beyond the type's range its end, NaN 0. Integers keep their low bits and floats
// are rounded, as in C++; anything but 0 (NaN too) is true. Without branches, so that loops over it are vectorised.
template <class To, class From>
constexpr To convert(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    using Limits = std::numeric_limits<To>;
    constexpr From low = static_cast<From>(Limits::min());                               // 0 or a power of 2: exact
    constexpr From beyond = static_cast<From>(Limits::max() / 2 + 1) * From(2);          // a power of 2: exact
    constexpr From high = beyond - beyond * (std::numeric_limits<From>::epsilon() / 2);  // the last float below
    const From inside = x > low ? (x < high ? x : high) : low;                           // NaN: low
    const To whole = static_cast<To>(inside);
    return x != x ? To(0) : x >= beyond ? Limits::max() : whole;
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace belfry
