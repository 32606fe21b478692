#include "belfry/engine/cpu/kernel/isa.h"

#include <cstdlib>
#include <string_view>

#include "belfry/base/check.h"

namespace belfry {
namespace {

std::optional<Isa> read_cap() {
  const char* wish = std::getenv("BELFRY_ISA");
  if (wish == nullptr || *wish == '\0') return std::nullopt;
  const std::string_view name = wish;
  BELFRY_CHECK(name == "avx2" || name == "avx512",
               "[BELFRY_ISA] expected avx2 or avx512, got '{}'. Unset the variable to use the best one.", name);
  const Isa isa = name == "avx2" ? Isa::avx2 : Isa::avx512;
  BELFRY_CHECK(cpu_supports(isa), "[BELFRY_ISA] expected instructions that this machine has, got '{}'. Use avx2.",
               name);
  return isa;
}

}  // namespace

bool cpu_supports(Isa isa) {
  if (isa == Isa::avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

std::optional<Isa> isa_cap() {
  static const std::optional<Isa> cap = read_cap();
  return cap;
}

Isa cpu_isa() {
  static const Isa isa = isa_cap().value_or(cpu_supports(Isa::avx512) ? Isa::avx512 : Isa::avx2);
  return isa;
}

int vector_width(Isa isa) { return isa == Isa::avx512 ? 16 : 8; }

std::string_view name_of(Isa isa) { return isa == Isa::avx512 ? "avx512" : "avx2"; }

}  // namespace belfry
