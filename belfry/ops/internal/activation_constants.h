// Constants shared by activations' gradients, their kernels and the fused programs.
#pragma once

namespace belfry {

// Those of self-normalising networks: mean 0 and variance 1 are a fixed point.
inline constexpr double kSeluScale = 1.0507009873554804934193349852946, kSeluAlpha = 1.6732632423543772848170429916717;

}  // namespace belfry
