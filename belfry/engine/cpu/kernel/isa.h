// Which instruction set to use, of those that the sources *_simd.cc are compiled for.
#pragma once

#include <optional>
#include <string_view>

namespace belfry {

enum class Isa { avx2, avx512 };

bool cpu_supports(Isa isa);

// The cap from the environment variable BELFRY_ISA (avx2, avx512), if it is set: no code of a wider set is used,
// oneDNN's included. AMX is wider than avx512.
std::optional<Isa> isa_cap();

// The cap, or else the widest set that this machine has. Constant for the life of the process, as the cap is: plans and
// workspaces depend on it.
Isa cpu_isa();

int vector_width(Isa isa);          // in floats
std::string_view name_of(Isa isa);  // as BELFRY_ISA spells it

// One of two tables of kernels. Not for sources *_simd.cc, which must share no code across instruction sets.
template <class Kernels>
const Kernels& by_isa(Isa isa, const Kernels& avx2, const Kernels& avx512) {
  return isa == Isa::avx512 ? avx512 : avx2;
}

}  // namespace belfry
