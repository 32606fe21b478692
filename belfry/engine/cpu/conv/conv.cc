// Chooses the code for a convolution; and has the plain loops, for both floating types, used if no fast code applies.
#include "belfry/engine/cpu/conv/conv.h"

#include <algorithm>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/conv/depthwise.h"
#include "belfry/engine/cpu/conv/dnnl_conv.h"
#include "belfry/engine/cpu/conv/dnnl_conv_choice.h"
#include "belfry/engine/cpu/conv/few_channels.h"
#include "belfry/engine/cpu/conv/image.h"
#include "belfry/engine/cpu/conv/tile_conv.h"
#include "belfry/engine/cpu/kernel/bf16_support.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/flops.h"

namespace belfry {
namespace {

// Minimum number of images per thread: enough for this many multiplications.
constexpr std::int64_t kWork = 1 << 14;
std::int64_t image_grain(const ConvGeometry& g) {
  return kWork / std::max<std::int64_t>(g.oh * g.ow * g.kh * g.kw * g.o * (g.c / g.groups), 1) + 1;
}

// A filter's element, the output it adds to and the pixel it is multiplied with.
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

template <class T>
void reference(const ConvCall& call, const Buffers& b) {
  switch (call.pass) {
    case ConvPass::forward: return forward(call.g, b.in<T>(0), b.in<T>(1), b.out<T>());
    case ConvPass::backward_data: return backward_input(call.g, b.in<T>(1), b.in<T>(call.dy), b.out<T>());
    case ConvPass::backward_filter: return backward_filter(call.g, b.in<T>(0), b.in<T>(call.dy), b.out<T>());
  }
}

KernelPtr make_reference(const KernelContext& c, const ConvCall& call) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([call](const Buffers& b, const Step&) { reference<T>(call, b); });
  });
}

// A fixed rule by type and shape: f32 uses oneDNN, or our code where oneDNN has no fast code (depthwise ones) or would
// waste it on padding (images of few channels); f64 and tensors with an empty dimension, which must not reach oneDNN,
// use the plain loops.
enum class Path { tiles, dnnl, depthwise, few_channels, reference };
Path path_of(const KernelContext& c, const ConvCall& call) {
  const bool empty = call.g.input_shape().elements() == 0 || call.g.filter_shape().elements() == 0 ||
                     call.g.output_shape().elements() == 0;
  if (c.output().dtype != DType::f32 || empty) return Path::reference;
  if (takes_tiles(c)) return Path::tiles;
  if (has_few_channels(call)) return Path::few_channels;
  return is_depthwise(call.g) && !dnnl_is_fast(call) ? Path::depthwise : Path::dnnl;
}

template <ConvPass pass>
KernelRegistration define_pass(const char* op) {
  const std::vector<int> factors = pass == ConvPass::forward         ? std::vector{0, 1}
                                   : pass == ConvPass::backward_data ? std::vector{1, 2}
                                                                     : std::vector{0, 2};
  constexpr auto flops = pass == ConvPass::forward         ? conv_flops
                         : pass == ConvPass::backward_data ? conv_input_flops
                                                           : conv_filter_flops;
  return define_conv_kernel(op, factors, flops, [](const KernelContext& c) { return conv_call(c, pass); });
}

const KernelRegistration forward_kernel = define_pass<ConvPass::forward>("Conv2D");
const KernelRegistration backward_data_kernel = define_pass<ConvPass::backward_data>("Conv2DBackpropInput");
const KernelRegistration backward_filter_kernel = define_pass<ConvPass::backward_filter>("Conv2DBackpropFilter");
// Made by the fuse pass, only for f32 and non-empty tensors: the reference does not support a bias.
const KernelRegistration fused_forward_kernel = define_pass<ConvPass::forward>("FusedConv");
const KernelRegistration fused_filter_kernel = define_pass<ConvPass::backward_filter>("FusedConvBackpropFilter");

}  // namespace

LayoutChoice conv_layouts(const KernelContext& c, const ConvCall& call) {
  switch (path_of(c, call)) {
    case Path::dnnl: return dnnl_conv_layouts(c, call);
    case Path::depthwise: return depthwise_layouts(c, call);
    case Path::few_channels: return few_channels_layouts(c, call);
    default: return plain_layouts(c);
  }
}

Algorithms conv_algorithms(const KernelContext& c, const ConvCall& call) {
  return path_of(c, call) == Path::dnnl ? dnnl_conv_algorithms(call) : Algorithms();
}

KernelPtr make_conv(const KernelContext& c, const ConvCall& call) {
  switch (path_of(c, call)) {
    case Path::tiles: return make_tile_conv(call, c.threads);
    case Path::dnnl: return make_dnnl_conv(call);
    case Path::depthwise: return make_depthwise(c, call);
    case Path::few_channels: return make_few_channels(c, call);
    default: return make_reference(c, call);
  }
}

KernelRegistration define_conv_kernel(const char* op, std::vector<int> factors, double (*flops)(const Work&),
                                      ConvCall (*call_of)(const KernelContext& c)) {
  return define_kernel(op)
      .flops(flops)
      .multiplies(std::move(factors), [call_of](const KernelContext& c) { return tiles_can_convolve(call_of(c)); })
      .layout_rule([call_of](const KernelContext& c) { return conv_layouts(c, call_of(c)); })
      .algorithms([call_of](const KernelContext& c) { return conv_algorithms(c, call_of(c)); })
      .make([call_of](const KernelContext& c) { return make_conv(c, call_of(c)); });
}

}  // namespace belfry
