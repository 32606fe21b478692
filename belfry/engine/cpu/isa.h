// Which of the two builds of the SIMD kernels this process uses.
#pragma once

namespace belfry {

enum class Isa { avx2, avx512 };

// The best one the processor has; the environment variable BELFRY_ISA=avx2 asks for the smaller one. Decided once.
Isa cpu_isa();

}  // namespace belfry
