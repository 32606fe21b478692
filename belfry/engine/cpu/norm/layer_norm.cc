// Layer norm of plain tensors over their last axes: [rows][n]. f32 uses the vectorised kernels; f64 the plain loops
// here.
#include <cmath>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/norm/layer_norm_team.h"

namespace belfry {
namespace {

struct LayerNormGeometry {
  std::int64_t rows = 0, n = 0;
  double epsilon = 0;
};

// For an op whose normalised tensor is input `x` and whose gamma is the next one.
LayerNormGeometry layer_norm_geometry(const KernelContext& c, int x) {
  const Shape& shape = c.input(x).shape;
  return {shape.slice(0, shape.rank() - c.input(x + 1).shape.rank()).elements(), c.input(x + 1).elements(),
          c.attributes->get<double>("epsilon")};
}

template <class T>
void forward(const LayerNormGeometry& g, const Buffers& b) {
  const T *x = b.in<T>(0), *gamma = b.in<T>(1), *beta = b.in<T>(2);
  T *y = b.out<T>(0), *means = b.out<T>(1), *rstds = b.out<T>(2);
  parallel_for(g.rows, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = x + r * g.n;
      T sum = 0, squares = 0;
      for (std::int64_t i = 0; i < g.n; ++i) sum += row[i];
      const T mean = g.n == 0 ? T(0) : sum / static_cast<T>(g.n);
      for (std::int64_t i = 0; i < g.n; ++i) squares += (row[i] - mean) * (row[i] - mean);
      const T variance = g.n == 0 ? T(0) : squares / static_cast<T>(g.n);
      const T rstd = 1 / std::sqrt(variance + static_cast<T>(g.epsilon));
      means[r] = mean;
      rstds[r] = rstd;
      for (std::int64_t i = 0; i < g.n; ++i) y[r * g.n + i] = (row[i] - mean) * rstd * gamma[i] + beta[i];
    }
  });
}

template <class T>
void backward(const LayerNormGeometry& g, const Buffers& b) {
  const T *dy = b.in<T>(0), *x = b.in<T>(1), *gamma = b.in<T>(2), *mean = b.in<T>(3), *rstd = b.in<T>(4);
  T *dx = b.out<T>(0), *dgamma = b.out<T>(1), *dbeta = b.out<T>(2);
  std::fill_n(dgamma, g.n, T(0));
  std::fill_n(dbeta, g.n, T(0));
  for (std::int64_t r = 0; r < g.rows; ++r) {
    T sum = 0, product = 0;
    for (std::int64_t i = 0; i < g.n; ++i) {
      const std::int64_t at = r * g.n + i;
      const T xhat = (x[at] - mean[r]) * rstd[r], scaled = dy[at] * gamma[i];
      sum += scaled;
      product += scaled * xhat;
      dgamma[i] += dy[at] * xhat;
      dbeta[i] += dy[at];
    }
    const T share = T(1) / static_cast<T>(g.n);
    for (std::int64_t i = 0; i < g.n; ++i) {
      const std::int64_t at = r * g.n + i;
      dx[at] = rstd[r] * (dy[at] * gamma[i] - sum * share - (x[at] - mean[r]) * rstd[r] * product * share);
    }
  }
}

// With a fourth input, that is added to the first one, and the sum is output 3.
KernelPtr make_fast_forward(const KernelContext& c, const LayerNormGeometry& g) {
  return simple_kernel([g, residual = c.inputs.size() > 3](const Buffers& b, const Step&) {
    layer_norm_forward({.input = b.in<float>(0),
                        .residual = residual ? b.in<float>(3) : nullptr,
                        .sum = residual ? b.out<float>(3) : nullptr,
                        .gamma = b.in<float>(1),
                        .beta = b.in<float>(2),
                        .y = b.out<float>(0),
                        .mean = b.out<float>(1),
                        .rstd = b.out<float>(2),
                        .n = g.n,
                        .epsilon = static_cast<float>(g.epsilon)},
                       g.rows);
  });
}

// With a sixth input, that is added to dx.
KernelPtr make_fast_backward(const KernelContext& c, const LayerNormGeometry& g) {
  return simple_kernel(
      [g, residual = c.inputs.size() > 5](const Buffers& b, const Step&) {
        layer_norm_backward({.dy = b.in<float>(0),
                             .x = b.in<float>(1),
                             .gamma = b.in<float>(2),
                             .mean = b.in<float>(3),
                             .rstd = b.in<float>(4),
                             .residual = residual ? b.in<float>(5) : nullptr,
                             .dx = b.out<float>(0),
                             .dgamma = b.out<float>(1),
                             .dbeta = b.out<float>(2),
                             .n = g.n},
                            g.rows, b.scratch);
      },
      layer_norm_scratch_bytes(g.n, c.threads));
}

const KernelRegistration layer_norm_kernel = define_kernel("LayerNorm").in_place(0).make([](const KernelContext& c) {
  const LayerNormGeometry g = layer_norm_geometry(c, 0);
  if (c.output().dtype == f32 && g.n > 0) return make_fast_forward(c, g);
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([g](const Buffers& b, const Step&) { forward<T>(g, b); });
  });
});

const KernelRegistration layer_norm_grad_kernel =
    define_kernel("LayerNormGrad").in_place(0).in_place(1).make([](const KernelContext& c) {
      const LayerNormGeometry g = layer_norm_geometry(c, 1);
      if (c.output().dtype == f32 && g.n > 0) return make_fast_backward(c, g);
      return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
        return simple_kernel([g](const Buffers& b, const Step&) { backward<T>(g, b); });
      });
    });

// Made by the fuse pass from a residual sum before or after.
const KernelRegistration fused_forward_kernel =
    define_kernel("FusedLayerNorm").in_place(0, 3).in_place(3, 3).make([](const KernelContext& c) {
      return make_fast_forward(c, layer_norm_geometry(c, 0));
    });
const KernelRegistration fused_backward_kernel =
    define_kernel("FusedLayerNormGrad").in_place(0).in_place(1).in_place(5).make([](const KernelContext& c) {
      return make_fast_backward(c, layer_norm_geometry(c, 1));
    });

}  // namespace
}  // namespace belfry
