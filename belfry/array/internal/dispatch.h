// From a DType known at run time to a C++ type: dispatch(dtype, [&]<class T>() { ... });
#pragma once

#include <cstdint>

#include "belfry/array/dtype.h"

namespace belfry {

template <class Function>
void dispatch(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::f32: return function.template operator()<float>();
    case DType::f64: return function.template operator()<double>();
    case DType::i32: return function.template operator()<std::int32_t>();
    case DType::i64: return function.template operator()<std::int64_t>();
    case DType::u8: return function.template operator()<std::uint8_t>();
    case DType::boolean: return function.template operator()<bool>();
  }
}

// The same for the two floating types only; the caller has checked is_float().
template <class Function>
void dispatch_float(DType dtype, Function&& function) {
  if (dtype == DType::f64) return function.template operator()<double>();
  function.template operator()<float>();
}

}  // namespace belfry
