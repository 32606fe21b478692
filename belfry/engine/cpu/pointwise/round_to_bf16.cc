// "RoundToBf16": lower_precision puts it before products whose kernels do not support bf16. Any layout: 0 stays
// 0.
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/pointwise/bf16_simd.h"

namespace belfry {
namespace {

const KernelRegistration round_kernel =
    define_kernel("RoundToBf16").layout_blind(true).in_place(0).make([](const KernelContext& c) {
      constexpr std::int64_t kGrain = 1 << 14;
      const auto n = static_cast<std::int64_t>(c.output().bytes() / sizeof(float));
      return simple_kernel(
          [n, round = by_isa(cpu_isa(), avx2::kBf16, avx512::kBf16).round](const Buffers& b, const Step&) {
            parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
              round(b.in<float>(0) + begin, b.out<float>() + begin, end - begin);
            });
          });
    });

}  // namespace
}  // namespace belfry
