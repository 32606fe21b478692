#include "belfry/engine/cpu/optimizer/update_norms_simd.h"

#include "belfry/engine/cpu/optimizer/update_rules.h"

namespace belfry::BELFRY_ISA {
namespace {

using simd::UpdateBuffers;
using simd::UpdateNorms;
using simd::UpdateRule;

// Two sums, so that an addition need not wait for the one before it.
struct SquareSum {
  DoubleVec low{}, high{};
  void add(DoubleVec v) { low = fma(v, v, low); }
  void add(Vec v) {
    add(low_half(v));
    const DoubleVec rest = high_half(v);
    high = fma(rest, rest, high);
  }
  double total() const {
    const DoubleVec both = low + high;
    double out = 0;
    for (int i = 0; i < kWidth / 2; ++i) out += both[i];
    return out;
  }
};

template <class T, class Rule>
UpdateNorms norms_by(const UpdateStep& step, const Rule& rule, const UpdateBuffers<T>& buffers, std::int64_t begin,
                     std::int64_t end) {
  using V = LanesOf<T>;
  const UpdateOperands<T> operands(step);
  SquareSum weights, direction;
  for (std::int64_t i = begin; i < end; i += kLanesOf<T>) {
    const bool whole = i + kLanesOf<T> <= end;
    const auto get = [&](const T* p) { return whole ? load(p + i) : load_first(p + i, end - i); };
    V slots[simd::kMostSlots];
    for (int k = 0; k < Rule::slots; ++k) slots[k] = get(buffers.slots[k]);
    const V w = get(buffers.weights), g = operands.gradient(w, get(buffers.gradient));
    weights.add(w);
    direction.add(rule.direction(operands.weights(w), g, slots));
  }
  return {weights.total(), direction.total()};
}

template <class T>
UpdateNorms norms(const UpdateStep& step, const UpdateBuffers<T>& buffers, std::int64_t begin, std::int64_t end) {
  return step.rule == UpdateRule::lars ? norms_by(step, Lars<T>(step), buffers, begin, end)
                                       : norms_by(step, Lamb<T>(step), buffers, begin, end);
}

}  // namespace

const simd::UpdateNormKernels kUpdateNorms = {norms<float>, norms<double>};

}  // namespace belfry::BELFRY_ISA
