#include "belfry/engine/cpu/softmax/softmax_team.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "belfry/base/parallel.h"

namespace belfry {
namespace {

constexpr std::int64_t kTeamGrain = 8192;  // elements a thread must have to be worth waking

const simd::SoftmaxKernels& table(Isa isa) { return by_isa(isa, avx2::kSoftmax, avx512::kSoftmax); }

template <class Args, class Kernel>
void over_rows(const Args& args, Kernel kernel) {
  const std::int64_t grain = std::max<std::int64_t>(1, kTeamGrain / std::max<std::int64_t>(1, args.classes));
  parallel_for(args.rows, grain, [&](std::int64_t begin, std::int64_t end) { kernel(args, begin, end); });
}

}  // namespace

void softmax_forward(const SoftmaxArgs& args, Isa isa) { over_rows(args, table(isa).softmax); }
void log_softmax_forward(const SoftmaxArgs& args, Isa isa) { over_rows(args, table(isa).log_softmax); }
void dense_cross_entropy(const DenseCrossEntropyArgs& args, Isa isa) {
  over_rows(args, table(isa).dense_cross_entropy);
}

std::int64_t sparse_cross_entropy(const CrossEntropyArgs& args, Isa isa) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first_bad = none;
  over_rows(args, [&](const CrossEntropyArgs& part, std::int64_t begin, std::int64_t end) {
    const std::int64_t bad = table(isa).cross_entropy(part, begin, end);
    if (bad < 0) return;
    std::int64_t seen = first_bad.load();
    while (bad < seen && !first_bad.compare_exchange_weak(seen, bad)) {
    }
  });
  return first_bad == none ? -1 : first_bad.load();
}

}  // namespace belfry
