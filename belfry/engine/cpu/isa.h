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

}  // namespace belfry
