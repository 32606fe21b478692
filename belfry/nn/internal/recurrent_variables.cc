#include "belfry/nn/internal/recurrent_variables.h"

#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"

namespace belfry {

Initializer forget_bias(double value) {
  return [value](const Shape& shape, DType dtype) {
    const std::int64_t units = shape[0] / 4;
    return concat({fill({units}, 0, dtype), fill({units}, value, dtype), fill({2 * units}, 0, dtype)}, 0);
  };
}

}  // namespace belfry
