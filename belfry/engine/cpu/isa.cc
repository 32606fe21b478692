#include "belfry/engine/cpu/isa.h"

#include <cstdlib>
#include <string_view>

namespace belfry {
namespace {

Isa detect() {
  const char* wanted = std::getenv("BELFRY_ISA");
  if (wanted != nullptr && std::string_view(wanted) == "avx2") return Isa::avx2;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::avx512 : Isa::avx2;
}

}  // namespace

Isa cpu_isa() {
  static const Isa isa = detect();
  return isa;
}

}  // namespace belfry
