// The type that matrix products and convolutions multiply in: chosen for each session, unknown to the graph.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace belfry {

enum class Precision : std::uint8_t {
  f32,            // what the graph says
  bf16,           // factors of f32 products rounded to bf16, sums in f32; by the CPU's own bf16 units where it has them
  bf16_emulated,  // the same up to the order of summation, without those units, as on other machines
};

}  // namespace belfry
#pragma GCC visibility pop
