#include "belfry/engine/cpu/norm/layer_norm_simd.h"

#include "belfry/engine/cpu/vector/row_loops.h"

namespace belfry::BELFRY_ISA {
namespace {

void forward(const simd::LayerNormArgs& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = args.n;
  const float share = 1.f / static_cast<float>(n);
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.input + r * n;
    if (args.residual != nullptr) {
      map_row(args.sum + r * n, n, [](Vec a, Vec b) { return a + b; }, x, args.residual + r * n);
      x = args.sum + r * n;
    }
    const float mean = fold_row(0.f, n, [](Vec v) { return v; }, kAddVectors, x) * share;
    const float squares = fold_row(0.f, n, [=](Vec v) { return (v - mean) * (v - mean); }, kAddVectors, x);
    const float rstd = 1.f / __builtin_sqrtf(squares * share + args.epsilon);
    args.mean[r] = mean;
    args.rstd[r] = rstd;
    map_row(
        args.y + r * n, n, [=](Vec v, Vec gamma, Vec beta) { return fma((v - mean) * rstd, gamma, beta); }, x,
        args.gamma, args.beta);
  }
}

// E[g] and E[g xhat] of a row; also adds the row to dgamma and dbeta.
struct Means {
  float g, product;
};

[[gnu::always_inline]] inline void take_row(const simd::LayerNormGradArgs& args, Vec dy, Vec xhat, std::int64_t i,
                                            std::int64_t left) {
  if (left >= kWidth) {
    store(args.dgamma + i, fma(dy, xhat, load(args.dgamma + i)));
    store(args.dbeta + i, load(args.dbeta + i) + dy);
  } else {
    store_first(args.dgamma + i, fma(dy, xhat, load_first(args.dgamma + i, left)), left);
    store_first(args.dbeta + i, load_first(args.dbeta + i, left) + dy, left);
  }
}

Means sum_row(const simd::LayerNormGradArgs& args, const float* dy, const float* x, float mean, float rstd) {
  const std::int64_t n = args.n;
  Vec sum{}, product{};
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Vec d = load(dy + i), xhat = (load(x + i) - mean) * rstd, g = d * load(args.gamma + i);
    sum += g;
    product = fma(g, xhat, product);
    take_row(args, d, xhat, i, kWidth);
  }
  if (i < n) {
    const std::int64_t left = n - i;
    const Vec d = load_first(dy + i, left), xhat = (load_first(x + i, left) - mean) * rstd;
    const Vec g = d * load_first(args.gamma + i, left);
    sum += g;
    product = fma(g, xhat, product);
    take_row(args, d, xhat, i, left);
  }
  const float share = 1.f / static_cast<float>(n);
  return {fold(sum, kAddVectors) * share, fold(product, kAddVectors) * share};
}

void backward(const simd::LayerNormGradArgs& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = args.n;
  for (std::int64_t r = begin; r < end; ++r) {
    const float *dy = args.dy + r * n, *x = args.x + r * n;
    const float mean = args.mean[r], rstd = args.rstd[r];
    const Means m = sum_row(args, dy, x, mean, rstd);
    const auto gradient = [=](Vec d, Vec v, Vec gamma) {
      const Vec xhat = (v - mean) * rstd;
      return (fma(d, gamma, splat(-m.g)) - xhat * m.product) * rstd;
    };
    if (args.residual == nullptr) {
      map_row(args.dx + r * n, n, gradient, dy, x, args.gamma);
    } else {
      map_row(
          args.dx + r * n, n, [=](Vec d, Vec v, Vec gamma, Vec more) { return gradient(d, v, gamma) + more; }, dy, x,
          args.gamma, args.residual + r * n);
    }
  }
}

}  // namespace

const simd::LayerNormKernels kLayerNorm = {forward, backward};

}  // namespace belfry::BELFRY_ISA
