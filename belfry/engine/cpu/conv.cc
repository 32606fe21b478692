// Convolutions in plain layouts, both floating types: the reference that fast paths stand in front of.
#include <algorithm>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/dnnl_conv.h"
#include "belfry/engine/cpu/image.h"
#include "belfry/engine/cpu/kernel_dispatch.h"
#include "belfry/ops/conv_geometry.h"

namespace belfry {
namespace {

// Images a thread takes, at least: as many as make this many multiplications.
constexpr std::int64_t kWork = 1 << 14;
std::int64_t image_grain(const ConvGeometry& g) {
  return kWork / std::max<std::int64_t>(g.oh * g.ow * g.kh * g.kw * g.o * (g.c / g.groups), 1) + 1;
}

// A filter's element, the output it adds to and the pixel that it meets there.
struct Tap {
  std::int64_t ky, kx, oy, ox, y, x;
};

// Calls visit(tap) for every tap whose pixel lies on the image.
template <class Visit>
void for_each_tap(const ConvGeometry& g, Visit visit) {
  for (std::int64_t oy = 0; oy < g.oh; ++oy)
    for (std::int64_t ky = 0; ky < g.kh; ++ky) {
      const std::int64_t y = oy * g.strides.height - g.pads.top + ky * g.dilations.height;
      if (y < 0 || y >= g.h) continue;
      for (std::int64_t ox = 0; ox < g.ow; ++ox)
        for (std::int64_t kx = 0; kx < g.kw; ++kx) {
          const std::int64_t x = ox * g.strides.width - g.pads.left + kx * g.dilations.width;
          if (x >= 0 && x < g.w) visit(Tap{ky, kx, oy, ox, y, x});
        }
    }
}

// x [n, h, w, c], filter [kh, kw, c / groups, o], y [n, oh, ow, o] (or the images channels first)
template <class T>
void forward(const ConvGeometry& g, const T* x, const T* filter, T* y) {
  const ImageStrides xs = input_strides(g), ys = output_strides(g);
  const std::int64_t per_in = g.c / g.groups, per_out = g.o / g.groups;
  parallel_for(g.n, image_grain(g), [&](std::int64_t begin, std::int64_t end) {
    std::fill(y + begin * ys.n, y + end * ys.n, T(0));
    for (std::int64_t n = begin; n < end; ++n)
      for_each_tap(g, [&](const Tap& tap) {
        T* out = y + ys.at(n, 0, tap.oy, tap.ox);
        const T* weights = filter + (tap.ky * g.kw + tap.kx) * per_in * g.o;
        for (std::int64_t group = 0; group < g.groups; ++group)
          for (std::int64_t i = 0; i < per_in; ++i) {
            const T value = x[xs.at(n, group * per_in + i, tap.y, tap.x)];
            for (std::int64_t o = group * per_out; o < (group + 1) * per_out; ++o)
              out[o * ys.c] += value * weights[i * g.o + o];
          }
      });
  });
}

template <class T>
void backward_input(const ConvGeometry& g, const T* filter, const T* dy, T* dx) {
  const ImageStrides xs = input_strides(g), ys = output_strides(g);
  const std::int64_t per_in = g.c / g.groups, per_out = g.o / g.groups;
  parallel_for(g.n, image_grain(g), [&](std::int64_t begin, std::int64_t end) {
    std::fill(dx + begin * xs.n, dx + end * xs.n, T(0));
    for (std::int64_t n = begin; n < end; ++n)
      for_each_tap(g, [&](const Tap& tap) {
        const T* from = dy + ys.at(n, 0, tap.oy, tap.ox);
        const T* weights = filter + (tap.ky * g.kw + tap.kx) * per_in * g.o;
        for (std::int64_t group = 0; group < g.groups; ++group)
          for (std::int64_t i = 0; i < per_in; ++i) {
            T sum = 0;
            for (std::int64_t o = group * per_out; o < (group + 1) * per_out; ++o)
              sum += from[o * ys.c] * weights[i * g.o + o];
            dx[xs.at(n, group * per_in + i, tap.y, tap.x)] += sum;
          }
      });
  });
}

// Split over the filter's input channels, so that every sum runs over the images in one order.
template <class T>
void backward_filter(const ConvGeometry& g, const T* x, const T* dy, T* dfilter) {
  const ImageStrides xs = input_strides(g), ys = output_strides(g);
  const std::int64_t per_in = g.c / g.groups, per_out = g.o / g.groups;
  std::fill(dfilter, dfilter + g.kh * g.kw * per_in * g.o, T(0));
  const std::int64_t channel = std::max<std::int64_t>(g.n * g.oh * g.ow * g.kh * g.kw * g.o, 1);
  parallel_for(per_in, kWork / channel + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = 0; n < g.n; ++n)
      for_each_tap(g, [&](const Tap& tap) {
        const T* from = dy + ys.at(n, 0, tap.oy, tap.ox);
        T* weights = dfilter + (tap.ky * g.kw + tap.kx) * per_in * g.o;
        for (std::int64_t i = begin; i < end; ++i)
          for (std::int64_t group = 0; group < g.groups; ++group) {
            const T value = x[xs.at(n, group * per_in + i, tap.y, tap.x)];
            for (std::int64_t o = group * per_out; o < (group + 1) * per_out; ++o)
              weights[i * g.o + o] += value * from[o * ys.c];
          }
      });
  });
}

ConvGeometry geometry(const KernelContext& c) {
  return conv_geometry(c.input(0).shape, c.input(1).shape, *c.attributes);
}

ConvTensors tensors(const KernelContext& c, const Shape& y) {
  return {c.input(0).shape, c.input(1).shape, y, c.output().dtype};
}

LayoutChoice plain(const KernelContext& c) {
  return {std::vector<Layout>(c.inputs.size()), std::vector<Layout>(c.outputs.size())};
}

const KernelRegistration conv_kernel =
    define_kernel("Conv2D")
        .layout_rule([](const KernelContext& c) {
          return dnnl_does(tensors(c, c.output().shape), *c.attributes) ? conv_forward_layouts(c) : plain(c);
        })
        .algorithms([](const KernelContext& c) {
          return dnnl_does(tensors(c, c.output().shape), *c.attributes) ? conv_forward_algorithms(c) : Algorithms();
        })
        .make([](const KernelContext& c) {
          if (dnnl_does(tensors(c, c.output().shape), *c.attributes)) return make_conv_forward(c);
          return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
            return simple_kernel(
                [g = geometry(c)](const Buffers& b, const Step&) { forward(g, b.in<T>(0), b.in<T>(1), b.out<T>()); });
          });
        });

const KernelRegistration backprop_input_kernel =
    define_kernel("Conv2DBackpropInput")
        .layout_rule([](const KernelContext& c) {
          return dnnl_does(tensors(c, c.input(2).shape), *c.attributes) ? conv_backward_data_layouts(c) : plain(c);
        })
        .algorithms([](const KernelContext& c) {
          return dnnl_does(tensors(c, c.input(2).shape), *c.attributes) ? conv_backward_data_algorithms(c)
                                                                        : Algorithms();
        })
        .make([](const KernelContext& c) {
          if (dnnl_does(tensors(c, c.input(2).shape), *c.attributes)) return make_conv_backward_data(c);
          return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
            return simple_kernel([g = geometry(c)](const Buffers& b, const Step&) {
              backward_input(g, b.in<T>(1), b.in<T>(2), b.out<T>());
            });
          });
        });

const KernelRegistration backprop_filter_kernel =
    define_kernel("Conv2DBackpropFilter")
        .layout_rule([](const KernelContext& c) {
          return dnnl_does(tensors(c, c.input(2).shape), *c.attributes) ? conv_backward_filter_layouts(c) : plain(c);
        })
        .algorithms([](const KernelContext& c) {
          return dnnl_does(tensors(c, c.input(2).shape), *c.attributes) ? conv_backward_filter_algorithms(c)
                                                                        : Algorithms();
        })
        .make([](const KernelContext& c) {
          if (dnnl_does(tensors(c, c.input(2).shape), *c.attributes)) return make_conv_backward_filter(c);
          return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
            return simple_kernel([g = geometry(c)](const Buffers& b, const Step&) {
              backward_filter(g, b.in<T>(0), b.in<T>(2), b.out<T>());
            });
          });
        });

// Made by the fuse pass, only where oneDNN does the convolution.
const KernelRegistration fused_conv_kernel = define_kernel("FusedConv")
                                                 .layout_rule(conv_forward_layouts)
                                                 .algorithms(conv_forward_algorithms)
                                                 .make(make_conv_forward);
const KernelRegistration fused_filter_kernel = define_kernel("FusedConvBackpropFilter")
                                                   .layout_rule(conv_backward_filter_layouts)
                                                   .algorithms(conv_backward_filter_algorithms)
                                                   .make(make_conv_backward_filter);

}  // namespace
}  // namespace belfry
