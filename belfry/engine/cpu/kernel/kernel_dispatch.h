// Kernels from a template over element types: make_for<Floats>(c, dtype, [&]<class T>() { return simple_kernel(...);
// }). A type outside the list is the user's mistake and says so, with the op and its source line. Internal to engine.
#pragma once

#include <type_traits>

#include "belfry/array/internal/dispatch.h"
#include "belfry/base/check.h"
#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/graph/node.h"

namespace belfry {

struct Floats {
  template <class T> static constexpr bool has = std::is_floating_point_v<T>;
  static constexpr const char* names = "f32 or f64";
};
struct Numbers {
  template <class T> static constexpr bool has =
      std::is_floating_point_v<T> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>;
  static constexpr const char* names = "f32, f64, i32 or i64";
};
struct AllTypes {
  template <class T> static constexpr bool has = true;
  static constexpr const char* names = "any type";
};

template <class Types, class Make>
KernelPtr make_for(const KernelContext& c, DType dtype, Make&& make) {
  KernelPtr made;
  dispatch(dtype, [&]<class T>() {
    if constexpr (Types::template has<T>) made = make.template operator()<T>();
  });
  BELFRY_CHECK(made != nullptr, "{} expected elements of {}, got {} {}. Use cast().", describe(*c.origin), Types::names,
               name_of(dtype), made_at(*c.origin));
  return made;
}

}  // namespace belfry
