// Which of the instruction sets that the kernels in simd/ are compiled for is used.
#pragma once

#include <string_view>

namespace belfry {

enum class Isa { avx2, avx512 };

bool cpu_supports(Isa isa);

// The widest set that this machine has, or what the environment variable BELFRY_ISA (avx2, avx512) asks for.
// Constant for the life of the process: plans and workspaces depend on it.
Isa cpu_isa();

int vector_width(Isa isa);          // in floats
std::string_view name_of(Isa isa);  // as BELFRY_ISA spells it

// One of two tables of kernels. Not for sources in simd/, which must share no code across instruction sets.
template <class Kernels>
const Kernels& by_isa(Isa isa, const Kernels& avx2, const Kernels& avx512) {
  return isa == Isa::avx512 ? avx512 : avx2;
}

}  // namespace belfry
