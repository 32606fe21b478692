#include "belfry/engine/cpu/optimizer/optimizer_simd.h"

#include "belfry/engine/cpu/optimizer/update_rules.h"
#include "belfry/engine/cpu/vector/lanes.h"
#include "belfry/engine/cpu/vector/transpose.h"

namespace belfry::BELFRY_ISA {
namespace {

using simd::UpdateBuffers;
using simd::UpdateRule;

// The elements [begin, end). A partial vector is padded with zeros and goes through the same arithmetic, so an
// element's bits do not depend on where ranges are cut.
template <class T, class Rule>
void update_range(const UpdateStep& step, const Rule& rule, const UpdateBuffers<T>& buffers, std::int64_t begin,
                  std::int64_t end) {
  using V = LanesOf<T>;
  const UpdateOperands<T> operands(step);
  T* const w = buffers.weights;
  std::int64_t i = begin;
  for (; i + kLanesOf<T> <= end; i += kLanesOf<T>) {
    V slots[simd::kMostSlots];
    for (int k = 0; k < Rule::slots; ++k) slots[k] = load(buffers.slots[k] + i);
    const V before = load(w + i);
    store(w + i, rule(operands.weights(before), operands.gradient(before, load(buffers.gradient + i)), slots));
    for (int k = 0; k < Rule::slots; ++k) store(buffers.slots[k] + i, slots[k]);
  }
  if (const std::int64_t n = end - i; n > 0) {
    V slots[simd::kMostSlots];
    for (int k = 0; k < Rule::slots; ++k) slots[k] = load_first(buffers.slots[k] + i, n);
    const V before = load_first(w + i, n), g = operands.gradient(before, load_first(buffers.gradient + i, n));
    store_first(w + i, rule(operands.weights(before), g, slots), n);
    for (int k = 0; k < Rule::slots; ++k) store_first(buffers.slots[k] + i, slots[k], n);
  }
}

// Calls body with the rule of this step.
template <class T, class Body>
void with_rule(const UpdateStep& step, Body body) {
  switch (step.rule) {
    case UpdateRule::sgd: return body(Sgd<T>(step));
    case UpdateRule::momentum: return body(Momentum<T, false>(step));
    case UpdateRule::nesterov: return body(Momentum<T, true>(step));
    case UpdateRule::adam: return body(Adam<T>(step));
    case UpdateRule::rmsprop: return body(RmsProp<T, false, false>(step));
    case UpdateRule::rmsprop_momentum: return body(RmsProp<T, false, true>(step));
    case UpdateRule::rmsprop_centered: return body(RmsProp<T, true, false>(step));
    case UpdateRule::rmsprop_centered_momentum: return body(RmsProp<T, true, true>(step));
    case UpdateRule::adagrad: return body(Adagrad<T>(step));
    case UpdateRule::adadelta: return body(Adadelta<T>(step));
    case UpdateRule::lars: return body(Lars<T>(step));
    case UpdateRule::lamb: return body(Lamb<T>(step));
  }
}

template <class T>
void update(const UpdateStep& step, const UpdateBuffers<T>& buffers, std::int64_t begin, std::int64_t end) {
  with_rule<T>(step, [&](const auto& rule) { update_range(step, rule, buffers, begin, end); });
}

void update_tiles(const UpdateStep& step, const UpdateBuffers<float>& buffers, const simd::SecondCopy& copy,
                  std::int64_t begin, std::int64_t end) {
  const std::int64_t block = copy.block, size = block * block;
  with_rule<float>(step, [&](const auto& rule) {
    for (std::int64_t tile = begin; tile < end; ++tile) {
      update_range(step, rule, buffers, tile * size, (tile + 1) * size);
      const std::int64_t s = tile % copy.spatial, outer = tile / copy.spatial;
      const std::int64_t at =
          outer / copy.outer1 * copy.stride0 + outer % copy.outer1 * copy.stride1 + s * copy.stride_spatial;
      const float* from = buffers.weights + tile * size;
      float* to = copy.data + at * size;
      if (copy.transpose_tile) {
        transpose(from, block, to, block, block, block);
      } else {
        for (std::int64_t i = 0; i < size; i += kWidth) store(to + i, load(from + i));
      }
    }
  });
}

}  // namespace

const simd::OptimizerKernels kOptimizer = {update<float>, update<double>, update_tiles};

}  // namespace belfry::BELFRY_ISA
