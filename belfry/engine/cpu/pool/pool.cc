// Pooling: f32 on the vector kernels, in the images' own layout; plain loops for f64, and for the gradients of max
// pooling if the forward pass stored no indices.
#include <algorithm>
#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/conv/image.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/pool/pool_view.h"

namespace belfry {
namespace {

// The part of one window that lies on the image.
struct Window {
  std::int64_t top, bottom, left, right;  // [top, bottom) x [left, right)
  std::int64_t pixels() const {
    return std::max<std::int64_t>(bottom - top, 0) * std::max<std::int64_t>(right - left, 0);
  }
};

Window window_at(const ConvGeometry& g, std::int64_t oy, std::int64_t ox) {
  const std::int64_t y = oy * g.strides.height - g.pads.top, x = ox * g.strides.width - g.pads.left;
  return {std::max<std::int64_t>(y, 0), std::min(y + g.kh, g.h), std::max<std::int64_t>(x, 0), std::min(x + g.kw, g.w)};
}

constexpr std::int64_t kGrain = 1 << 14;  // minimum number of pixels per thread

// Calls visit(image, channel, output's place, window) for all outputs, images in parallel: windows may overlap, so an
// image belongs to one thread.
template <class Visit>
void for_each_window(const ConvGeometry& g, Visit visit) {
  const ImageStrides ys = output_strides(g);
  const std::int64_t image = std::max<std::int64_t>(g.c * g.oh * g.ow * g.kh * g.kw, 1);
  parallel_for(g.n, kGrain / image + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n)
      for (std::int64_t oy = 0; oy < g.oh; ++oy)
        for (std::int64_t ox = 0; ox < g.ow; ++ox)
          for (std::int64_t c = 0; c < g.c; ++c) visit(n, c, ys.at(n, c, oy, ox), window_at(g, oy, ox));
  });
}

// The place of a window's first maximum (of its first NaN, if it has one); -1 if no pixel lies on the image.
template <class T>
std::int64_t argmax(const ImageStrides& xs, const T* x, std::int64_t n, std::int64_t c, const Window& window) {
  std::int64_t best = -1;
  for (std::int64_t iy = window.top; iy < window.bottom; ++iy)
    for (std::int64_t ix = window.left; ix < window.right; ++ix) {
      const std::int64_t at = xs.at(n, c, iy, ix);
      if (best < 0 || x[at] > x[best] || (std::isnan(x[at]) && !std::isnan(x[best]))) best = at;
    }
  return best;
}

// y = values at the maxima of x: of x itself (MaxPool) or of ddx (MaxPoolGradGrad).
template <class T>
void gather_maxima(const ConvGeometry& g, const T* x, const T* values, T* y) {
  const ImageStrides xs = input_strides(g);
  for_each_window(g, [&](std::int64_t n, std::int64_t c, std::int64_t out, const Window& window) {
    const std::int64_t from = argmax(xs, x, n, c, window);
    y[out] = from < 0 ? T(0) : values[from];
  });
}

template <class T>
void scatter_to_maxima(const ConvGeometry& g, const T* x, const T* dy, T* dx) {
  const ImageStrides xs = input_strides(g);
  std::fill(dx, dx + g.n * xs.n, T(0));
  for_each_window(g, [&](std::int64_t n, std::int64_t c, std::int64_t out, const Window& window) {
    const std::int64_t to = argmax(xs, x, n, c, window);
    if (to >= 0) dx[to] += dy[out];
  });
}

template <class T>
void average(const ConvGeometry& g, const T* x, T* y) {
  const ImageStrides xs = input_strides(g);
  for_each_window(g, [&](std::int64_t n, std::int64_t c, std::int64_t out, const Window& window) {
    T sum = 0;
    for (std::int64_t iy = window.top; iy < window.bottom; ++iy)
      for (std::int64_t ix = window.left; ix < window.right; ++ix) sum += x[xs.at(n, c, iy, ix)];
    y[out] = window.pixels() == 0 ? T(0) : sum / static_cast<T>(window.pixels());
  });
}

template <class T>
void spread(const ConvGeometry& g, const T* dy, T* dx) {
  const ImageStrides xs = input_strides(g);
  std::fill(dx, dx + g.n * xs.n, T(0));
  for_each_window(g, [&](std::int64_t n, std::int64_t c, std::int64_t out, const Window& window) {
    if (window.pixels() == 0) return;
    const T share = dy[out] / static_cast<T>(window.pixels());
    for (std::int64_t iy = window.top; iy < window.bottom; ++iy)
      for (std::int64_t ix = window.left; ix < window.right; ++ix) dx[xs.at(n, c, iy, ix)] += share;
  });
}

// run(geometry, buffers, a T that says the type)
template <class Run>
KernelPtr make_plain(const KernelContext& c, Run run) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel(
        [g = pool_geometry(c.input(0).shape, *c.attributes), run](const Buffers& b, const Step&) { run(g, b, T()); });
  });
}

// `from` is the input that is pooled or spread. run(pooling, source, destination) for f32; plain_run as above.
template <class Run, class PlainRun>
KernelRegistration define_pool_kernel(const char* op, int from, Run run, PlainRun plain_run) {
  return define_kernel(op)
      .layout_rule([from](const KernelContext& c) {
        LayoutChoice choice{std::vector<Layout>(c.inputs.size()), {Layout()}};
        if (c.output().dtype != DType::f32) return choice;
        const Layout layout = pool_layout(c.input(from), *c.attributes);
        choice.inputs[static_cast<std::size_t>(from)] = layout;
        choice.outputs[0] = pool_layout_like(layout, c.output(), *c.attributes);
        return choice;
      })
      .make([from, run, plain_run](const KernelContext& c) {
        if (c.output().dtype != DType::f32) return make_plain(c, plain_run);
        const TensorInfo& images = from == 0 ? c.input(0) : c.output();
        return simple_kernel([from, run, pooling = pooling_of(images.shape, images.layout, *c.attributes)](
                                 const Buffers& b, const Step&) { run(pooling, b.in<float>(from), b.out<float>()); });
      });
}

const KernelRegistration max_pool_kernel = define_pool_kernel(
    "MaxPool", 0,
    [](const Pooling& pooling, const float* x, float* y) { max_pool_forward({.pooling = pooling, .x = x, .y = y}); },
    []<class T>(const ConvGeometry& g, const Buffers& b, T) { gather_maxima(g, b.in<T>(0), b.in<T>(0), b.out<T>()); });
const KernelRegistration avg_pool_kernel = define_pool_kernel(
    "AvgPool", 0,
    [](const Pooling& pooling, const float* x, float* y) {
      average_pool_forward({.pooling = pooling, .x = x, .y = y});
    },
    []<class T>(const ConvGeometry& g, const Buffers& b, T) { average(g, b.in<T>(0), b.out<T>()); });
const KernelRegistration avg_pool_grad_kernel = define_pool_kernel(
    "AvgPoolGrad", 1,
    [](const Pooling& pooling, const float* dy, float* dx) {
      average_pool_backward({.pooling = pooling, .dy = dy, .dx = dx});
    },
    []<class T>(const ConvGeometry& g, const Buffers& b, T) { spread(g, b.in<T>(1), b.out<T>()); });

const KernelRegistration max_pool_grad_kernel = define_kernel("MaxPoolGrad").make([](const KernelContext& c) {
  return make_plain(c, []<class T>(const ConvGeometry& g, const Buffers& b, T) {
    scatter_to_maxima(g, b.in<T>(0), b.in<T>(2), b.out<T>());
  });
});
const KernelRegistration max_pool_grad_grad_kernel = define_kernel("MaxPoolGradGrad").make([](const KernelContext& c) {
  return make_plain(c, []<class T>(const ConvGeometry& g, const Buffers& b, T) {
    gather_maxima(g, b.in<T>(0), b.in<T>(2), b.out<T>());
  });
});

}  // namespace
}  // namespace belfry
