#include "belfry/engine/cpu/random/random_team.h"

#include <algorithm>
#include <cmath>

#include "belfry/base/parallel.h"

namespace belfry {
namespace {

constexpr std::int64_t kGrain = 8192;  // elements a thread must have to be worth waking

const simd::RandomKernels& table(Isa isa) { return by_isa(isa, avx2::kRandom, avx512::kRandom); }

template <class Body>
void over_groups(std::int64_t n, Body body) {
  const std::int64_t groups = (n + simd::kRandomGroup - 1) / simd::kRandomGroup;
  parallel_for(groups, kGrain / simd::kRandomGroup, [&](std::int64_t begin, std::int64_t end) {
    body(begin * simd::kRandomGroup, std::min(end * simd::kRandomGroup, n));
  });
}

}  // namespace

void apply_dropout(const RandomSource& source, const DropoutRun& run, Isa isa) {
  const double keep = 1 - static_cast<double>(run.rate);
  const simd::DropoutArgs args{.source = source,
                               .x = run.x,
                               .y = run.y,
                               .scale = keep > 0 ? static_cast<float>(1 / keep) : 0.f,
                               .threshold = static_cast<std::int32_t>(std::lround(keep * (1 << 24)))};
  over_groups(run.n, [&](std::int64_t begin, std::int64_t end) { table(isa).dropout(args, begin, end); });
}

}  // namespace belfry
