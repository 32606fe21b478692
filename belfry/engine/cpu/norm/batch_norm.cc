// Batch normalisation of plain tensors, both floating types. Sums are in double, one thread per channel. (The
// fuse pass makes the f32 ones that compute statistics into faster kernels; with given ones there is nothing to fuse.)
#include <cmath>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/lanes/channel_layout.h"
#include "belfry/engine/cpu/lanes/channel_loops.h"
#include "belfry/engine/cpu/norm/batch_norm_team.h"

namespace belfry {
namespace {

// x as [outer, channels, inner]
struct BatchNormGeometry : ChannelGeometry {
  double epsilon = 0;
};
BatchNormGeometry batch_norm_geometry(const KernelContext& c, int at) {
  return {channel_geometry(c, at), c.attributes->get<double>("epsilon")};
}

template <class T>
void statistics(const BatchNormGeometry& g, const T* x, T* mean, T* variance) {
  for_each_channel(g, [&](std::int64_t c) {
    double sum = 0, squares = 0;
    for_each_element(g, c, [&](std::int64_t i) { sum += static_cast<double>(x[i]); });
    const double centre = g.count() == 0 ? 0 : sum / static_cast<double>(g.count());
    for_each_element(g, c, [&](std::int64_t i) {
      squares += (static_cast<double>(x[i]) - centre) * (static_cast<double>(x[i]) - centre);
    });
    mean[c] = static_cast<T>(centre);
    variance[c] = static_cast<T>(g.count() == 0 ? 0 : squares / static_cast<double>(g.count()));
  });
}

template <class T>
struct Parameters {
  const T *gamma, *beta, *mean, *variance;
};

template <class T>
void normalise(const BatchNormGeometry& g, const T* x, const Parameters<T>& p, T* y) {
  for_each_channel(g, [&](std::int64_t c) {
    const T scale = p.gamma[c] / std::sqrt(p.variance[c] + static_cast<T>(g.epsilon));
    for_each_element(g, c, [&](std::int64_t i) { y[i] = (x[i] - p.mean[c]) * scale + p.beta[c]; });
  });
}

// dx = gamma r (dy - E[dy] - xhat E[dy xhat]),  dgamma = sum(dy xhat),  dbeta = sum(dy)
template <class T>
void backward(const BatchNormGeometry& g, const T* dy, const T* x, const Parameters<T>& p, T* dx, T* dgamma, T* dbeta) {
  for_each_channel(g, [&](std::int64_t c) {
    const T r = 1 / std::sqrt(p.variance[c] + static_cast<T>(g.epsilon)), mean = p.mean[c];
    double sum = 0, product = 0;
    for_each_element(g, c, [&](std::int64_t i) {
      sum += static_cast<double>(dy[i]);
      product += static_cast<double>(dy[i]) * static_cast<double>((x[i] - mean) * r);
    });
    dgamma[c] = static_cast<T>(product);
    dbeta[c] = static_cast<T>(sum);
    if (g.count() == 0) return;
    const T a = static_cast<T>(sum / static_cast<double>(g.count())),
            b = static_cast<T>(product / static_cast<double>(g.count()));
    const T scale = p.gamma[c] * r;
    for_each_element(g, c, [&](std::int64_t i) { dx[i] = scale * (dy[i] - a - (x[i] - mean) * r * b); });
  });
}

const KernelRegistration batch_norm_kernel = define_kernel("BatchNorm").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([g = batch_norm_geometry(c, 0)](const Buffers& b, const Step&) {
      statistics(g, b.in<T>(0), b.out<T>(1), b.out<T>(2));
      normalise<T>(g, b.in<T>(0), {b.in<T>(1), b.in<T>(2), b.out<T>(1), b.out<T>(2)}, b.out<T>());
    });
  });
});

const KernelRegistration batch_norm_grad_kernel = define_kernel("BatchNormGrad").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([g = batch_norm_geometry(c, 1)](const Buffers& b, const Step&) {
      const Parameters<T> parameters{b.in<T>(2), nullptr, b.in<T>(3), b.in<T>(4)};
      backward(g, b.in<T>(0), b.in<T>(1), parameters, b.out<T>(0), b.out<T>(1), b.out<T>(2));
    });
  });
});

bool vectorised(const KernelContext& c) { return c.output().dtype == DType::f32; }

KernelPtr make_vectorised_inference(const KernelContext& c) {
  const ActivationView view = activation_view(c.input(0), channel_axis_of(c));
  return simple_kernel(
      [view, epsilon = static_cast<float>(c.attributes->get<double>("epsilon"))](const Buffers& b, const Step&) {
        batch_norm_forward({.view = view,
                            .x = b.in<float>(0),
                            .given_mean = b.in<float>(3),
                            .given_variance = b.in<float>(4),
                            .gamma = b.in<float>(1),
                            .beta = b.in<float>(2),
                            .epsilon = epsilon,
                            .y = b.out<float>(),
                            .scratch = b.scratch});
      },
      batch_norm_scratch_bytes(view, c.threads));
}

const KernelRegistration batch_norm_inference_kernel =
    define_kernel("BatchNormInference")
        .layout_rule([](const KernelContext& c) {
          const Layout layout = vectorised(c) ? channel_layout(c.input(0), channel_axis_of(c)) : Layout();
          return LayoutChoice{{layout, Layout(), Layout(), Layout(), Layout()}, {layout}};
        })
        .in_place(0)
        .make([](const KernelContext& c) {
          if (vectorised(c)) return make_vectorised_inference(c);
          return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
            return simple_kernel([g = batch_norm_geometry(c, 0)](const Buffers& b, const Step&) {
              normalise<T>(g, b.in<T>(0), {b.in<T>(1), b.in<T>(2), b.in<T>(3), b.in<T>(4)}, b.out<T>());
            });
          });
        });

}  // namespace
}  // namespace belfry
