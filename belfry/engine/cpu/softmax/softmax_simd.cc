#include "belfry/engine/cpu/softmax/softmax_simd.h"

#include "belfry/engine/cpu/vector/row_loops.h"
#include "belfry/engine/cpu/vector/vmath.h"

namespace belfry::BELFRY_ISA {
namespace {

float row_max(const float* x, std::int64_t n) {
  return fold_row(-__builtin_inff(), n, [](Vec v) { return v; }, kMaxVectors, x);
}

// sum exp(x - shift)
float exp_sum(const float* x, std::int64_t n, float shift) {
  return fold_row(0.f, n, [=](Vec v) { return exp(v - shift); }, kAddVectors, x);
}

// y = exp(x - shift); returns the sum
float exp_and_sum(const float* x, float* y, std::int64_t n, float shift) {
  Vec a{}, b{};
  std::int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    const Vec first = exp(load(x + i) - shift), second = exp(load(x + i + kWidth) - shift);
    store(y + i, first);
    store(y + i + kWidth, second);
    a += first;
    b += second;
  }
  for (; i < n; i += kWidth) {
    const std::int64_t left = n - i < kWidth ? n - i : kWidth;
    const Vec e = exp(load_first(x + i, left) - shift);
    store_first(y + i, e, left);
    a += take_first(e, left, Vec{});
  }
  return fold(a + b, kAddVectors);
}

void softmax(const simd::SoftmaxArgs& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = args.classes;
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.input + r * n;
    float* y = args.output + r * n;
    const float scale = 1 / exp_and_sum(x, y, n, row_max(x, n));
    map_row(y, n, [=](Vec e) { return e * scale; }, y);
  }
}

// y = x - (max + log sum exp(x - max))
void log_softmax(const simd::SoftmaxArgs& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = args.classes;
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.input + r * n;
    const float most = row_max(x, n), log_sum = __builtin_logf(exp_sum(x, n, most));
    map_row(args.output + r * n, n, [=](Vec v) { return v - most - log_sum; }, x);
  }
}

std::int64_t label_of(const simd::CrossEntropyArgs& args, std::int64_t row) {
  return args.wide_labels ? static_cast<const std::int64_t*>(args.labels)[row]
                          : static_cast<const std::int32_t*>(args.labels)[row];
}

std::int64_t cross_entropy(const simd::CrossEntropyArgs& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = args.classes;
  std::int64_t first_bad = -1;
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.logits + r * n;
    float* dx = args.gradient != nullptr ? args.gradient + r * n : nullptr;
    const std::int64_t label = label_of(args, r);
    if (label < 0 || label >= n) {
      if (first_bad < 0) first_bad = r;
      if (args.loss != nullptr) args.loss[r] = __builtin_nanf("");
      if (dx != nullptr) map_row(dx, n, [] { return Vec{}; });
      continue;
    }
    const float most = row_max(x, n), at_label = x[label];
    const float total = dx != nullptr ? exp_and_sum(x, dx, n, most) : exp_sum(x, n, most);
    if (args.loss != nullptr) args.loss[r] = most - at_label + __builtin_logf(total);
    if (dx == nullptr) continue;
    const float factor = args.factor != nullptr ? args.factor[r * args.factor_stride] : 1.f;
    const float scale = factor / total;
    map_row(dx, n, [=](Vec e) { return e * scale; }, dx);
    dx[label] -= factor;
  }
  return first_bad;
}

// Logits of -infinity may have a label of 0: such an entry is skipped.
void dense_cross_entropy(const simd::DenseCrossEntropyArgs& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = args.classes;
  for (std::int64_t r = begin; r < end; ++r) {
    const float *x = args.logits + r * n, *labels = args.labels + r * n;
    const float most = row_max(x, n), total = exp_sum(x, n, most), log_total = most + __builtin_logf(total);
    if (args.loss != nullptr) {
      const auto term = [=](Vec v, Vec label) { return select(label == 0.f, Vec{}, label * (log_total - v)); };
      args.loss[r] = fold_row(0.f, n, term, kAddVectors, x, labels);
    }
    if (args.gradient == nullptr) continue;
    const float factor = args.factor[r];
    const float weight = fold_row(0.f, n, [](Vec v) { return v; }, kAddVectors, labels) / total;
    const auto slope = [=](Vec v, Vec label) { return (exp(v - most) * weight - label) * factor; };
    map_row(args.gradient + r * n, n, slope, x, labels);
  }
}

}  // namespace

const simd::SoftmaxKernels kSoftmax = {softmax, log_softmax, cross_entropy, dense_cross_entropy};

}  // namespace belfry::BELFRY_ISA
