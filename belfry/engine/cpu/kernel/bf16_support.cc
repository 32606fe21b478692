#include "belfry/engine/cpu/kernel/bf16_support.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "belfry/engine/cpu/kernel/isa.h"

namespace belfry {
namespace {

bool cpu_has_tiles() {
  constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAvx512Bf16 = 1u << 5;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kAmxBf16) == 0 || (d & kAmxTile) == 0) return false;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvx512Bf16) != 0;
}

// Linux lets a process use the tile registers only after it has asked for them.
bool system_gives_tiles() {
  constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

Bf16Support find_out() {
  if (!cpu_supports(Isa::avx512) || !cpu_has_tiles()) return {false, "emulated: the CPU has no AMX"};
  if (const std::optional<Isa> cap = isa_cap()) return {false, fmt::format("emulated: BELFRY_ISA={}", name_of(*cap))};
  if (!system_gives_tiles()) return {false, "emulated: the system does not allow the CPU's AMX"};
  return {true, "native: AMX"};
}

}  // namespace

const Bf16Support& bf16_support() {
  static const Bf16Support support = find_out();
  return support;
}

bool takes_tiles(const KernelContext& c) { return c.attributes->get_or<std::string>(kPrecision, "") == kBf16; }

}  // namespace belfry
