#include "belfry/engine/cpu/dnnl_conv.h"

#include <oneapi/dnnl/dnnl.h>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/dnnl_kernel.h"
#include "belfry/engine/cpu/isa.h"
#include "belfry/ops/conv_geometry.h"

namespace belfry {
namespace {

enum class Pass { forward, backward_data, backward_filter };

// Where our axes are in oneDNN's order: images n, c, h, w and filters o, i, h, w.
std::vector<int> from_dnnl(const ConvGeometry& g, bool filter) {
  if (filter) return {2, 3, 1, 0};
  return g.channels_last ? std::vector{0, 2, 3, 1} : std::vector{0, 1, 2, 3};
}

dnnl_memory_desc_t any_format(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  const dnnl_dims_t dims{a, b, c, d};
  dnnl_memory_desc_t out;
  dnnl_check(dnnl_memory_desc_init_by_tag(&out, 4, dims, dnnl_f32, dnnl_format_tag_any), "convolution descriptor");
  return out;
}

dnnl_memory_desc_t vector_of(std::int64_t n) {
  const dnnl_dims_t dims{n};
  dnnl_memory_desc_t out;
  dnnl_check(dnnl_memory_desc_init_by_tag(&out, 1, dims, dnnl_f32, dnnl_a), "bias descriptor");
  return out;
}

// A fixed rule by shape and instruction set, from measurements at batch 128 (AVX-512): Winograd's 4x4 tiles win on 3x3
// filters of stride 1 from 32 channels on (16 for the filter's gradient), where they do not overhang the image by much.
bool winograd_wins(const ConvGeometry& g, Pass pass) {
  if (cpu_isa() != Isa::avx512 || g.kh != 3 || g.kw != 3 || g.strides.height != 1 || g.strides.width != 1) return false;
  if (g.dilations.height != 1 || g.dilations.width != 1) return false;
  const std::int64_t least = pass == Pass::backward_filter ? 16 : 32;
  if (g.c < least || g.o < least) return false;
  const auto tiled = [](std::int64_t size) { return (size + 3) / 4 * 4; };
  return tiled(g.oh) * tiled(g.ow) * 5 <= g.oh * g.ow * 6;
}

// The primitive of one pass, with every layout left to oneDNN.
struct Convolution {
  ConvGeometry g;
  Pass pass = Pass::forward;
  bool bias = false, relu = false;

  DnnlDescriptor descriptor() const {
    if (winograd_wins(g, pass))
      if (dnnl_primitive_desc_t pd = try_create(dnnl_convolution_winograd)) return DnnlDescriptor(pd);
    dnnl_primitive_desc_t pd = try_create(dnnl_convolution_direct);
    BELFRY_CHECK(pd != nullptr, "[conv2d] expected a convolution that oneDNN has, got none for {} with filter {}",
                 to_string(g.input_shape()), to_string(g.filter_shape()));
    return DnnlDescriptor(pd);
  }

 private:
  dnnl_primitive_desc_t try_create(dnnl_alg_kind_t algorithm) const {
    const dnnl_memory_desc_t x = any_format(g.n, g.c, g.h, g.w), w = any_format(g.o, g.c, g.kh, g.kw),
                             y = any_format(g.n, g.o, g.oh, g.ow);
    const dnnl_memory_desc_t b = vector_of(g.o);
    const dnnl_dims_t strides{g.strides.height, g.strides.width},
        dilations{g.dilations.height - 1, g.dilations.width - 1};
    const dnnl_dims_t before{g.pads.top, g.pads.left}, after{g.pads.bottom, g.pads.right};
    DnnlAttributes attributes;
    if (relu && pass == Pass::forward) attributes.append_relu();
    dnnl_convolution_desc_t desc;
    const dnnl_memory_desc_t* bias_of_pass = bias ? &b : nullptr;
    dnnl_check(dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, algorithm, &x, &w,
                                                          pass == Pass::backward_data ? nullptr : bias_of_pass, &y,
                                                          strides, dilations, before, after),
               "convolution");
    dnnl_primitive_desc_t forward = nullptr;
    if (dnnl_primitive_desc_create(&forward, &desc, attributes.handle(), dnnl_cpu_engine(), nullptr) != dnnl_success)
      return nullptr;
    if (pass == Pass::forward) return forward;
    const DnnlDescriptor hint(forward);
    if (pass == Pass::backward_data)
      dnnl_check(dnnl_dilated_convolution_backward_data_desc_init(&desc, algorithm, &x, &w, &y, strides, dilations,
                                                                  before, after),
                 "convolution backward");
    else
      dnnl_check(dnnl_dilated_convolution_backward_weights_desc_init(&desc, algorithm, &x, &w, bias_of_pass, &y,
                                                                     strides, dilations, before, after),
                 "convolution backward");
    const DnnlAttributes plain;
    dnnl_primitive_desc_t backward = nullptr;
    if (dnnl_primitive_desc_create(&backward, &desc, plain.handle(), dnnl_cpu_engine(), hint.handle()) != dnnl_success)
      return nullptr;
    return backward;
  }
};

Layout layout_of(const DnnlDescriptor& d, int arg, const ConvGeometry& g, bool filter) {
  return Layout::of(permuted(d.argument(arg), from_dnnl(g, filter)));
}

Convolution forward_of(const KernelContext& c) {
  return {.g = conv_geometry(c.input(0).shape, c.input(1).shape, *c.attributes),
          .pass = Pass::forward,
          .bias = c.inputs.size() > 2,
          .relu = c.attributes->flag("relu")};
}
Convolution backward_data_of(const KernelContext& c) {
  return {.g = conv_geometry(c.input(0).shape, c.input(1).shape, *c.attributes), .pass = Pass::backward_data};
}
Convolution backward_filter_of(const KernelContext& c) {
  return {.g = conv_geometry(c.input(0).shape, c.input(1).shape, *c.attributes),
          .pass = Pass::backward_filter,
          .bias = c.outputs.size() > 1};
}

}  // namespace

bool dnnl_does(const ConvTensors& t, const Attributes& attributes) {
  return t.dtype == DType::f32 && attributes.integer("groups") == 1 && t.x.elements() > 0 && t.filter.elements() > 0 &&
         t.y.elements() > 0;
}

LayoutChoice conv_forward_layouts(const KernelContext& c) {
  const Convolution conv = forward_of(c);
  const DnnlDescriptor d = conv.descriptor();
  LayoutChoice choice{{layout_of(d, DNNL_ARG_SRC, conv.g, false), layout_of(d, DNNL_ARG_WEIGHTS, conv.g, true)},
                      {layout_of(d, DNNL_ARG_DST, conv.g, false)}};
  if (conv.bias) choice.inputs.emplace_back();
  return choice;
}

KernelPtr make_conv_forward(const KernelContext& c) {
  const Convolution conv = forward_of(c);
  const DnnlDescriptor d = conv.descriptor();
  std::vector<DnnlArgument> arguments{
      {.arg = DNNL_ARG_SRC, .input = 0, .descriptor = d.argument(DNNL_ARG_SRC)},
      {.arg = DNNL_ARG_WEIGHTS, .input = 1, .descriptor = d.argument(DNNL_ARG_WEIGHTS)}};
  if (conv.bias) arguments.push_back({.arg = DNNL_ARG_BIAS, .input = 2, .descriptor = d.argument(DNNL_ARG_BIAS)});
  arguments.push_back({.arg = DNNL_ARG_DST, .output = 0, .descriptor = d.argument(DNNL_ARG_DST)});
  return dnnl_kernel([&] { return conv.descriptor(); }, std::move(arguments));
}

LayoutChoice conv_backward_data_layouts(const KernelContext& c) {
  const Convolution conv = backward_data_of(c);
  const DnnlDescriptor d = conv.descriptor();
  return {{Layout(), layout_of(d, DNNL_ARG_WEIGHTS, conv.g, true), layout_of(d, DNNL_ARG_DIFF_DST, conv.g, false)},
          {layout_of(d, DNNL_ARG_DIFF_SRC, conv.g, false)}};
}

KernelPtr make_conv_backward_data(const KernelContext& c) {
  const Convolution conv = backward_data_of(c);
  const DnnlDescriptor d = conv.descriptor();
  return dnnl_kernel([&] { return conv.descriptor(); },
                     {{.arg = DNNL_ARG_WEIGHTS, .input = 1, .descriptor = d.argument(DNNL_ARG_WEIGHTS)},
                      {.arg = DNNL_ARG_DIFF_DST, .input = 2, .descriptor = d.argument(DNNL_ARG_DIFF_DST)},
                      {.arg = DNNL_ARG_DIFF_SRC, .output = 0, .descriptor = d.argument(DNNL_ARG_DIFF_SRC)}});
}

LayoutChoice conv_backward_filter_layouts(const KernelContext& c) {
  const Convolution conv = backward_filter_of(c);
  const DnnlDescriptor d = conv.descriptor();
  LayoutChoice choice{
      {layout_of(d, DNNL_ARG_SRC, conv.g, false), Layout(), layout_of(d, DNNL_ARG_DIFF_DST, conv.g, false)},
      {layout_of(d, DNNL_ARG_DIFF_WEIGHTS, conv.g, true)}};
  if (conv.bias) choice.outputs.emplace_back();
  return choice;
}

KernelPtr make_conv_backward_filter(const KernelContext& c) {
  const Convolution conv = backward_filter_of(c);
  const DnnlDescriptor d = conv.descriptor();
  std::vector<DnnlArgument> arguments{
      {.arg = DNNL_ARG_SRC, .input = 0, .descriptor = d.argument(DNNL_ARG_SRC)},
      {.arg = DNNL_ARG_DIFF_DST, .input = 2, .descriptor = d.argument(DNNL_ARG_DIFF_DST)},
      {.arg = DNNL_ARG_DIFF_WEIGHTS, .output = 0, .descriptor = d.argument(DNNL_ARG_DIFF_WEIGHTS)}};
  if (conv.bias)
    arguments.push_back({.arg = DNNL_ARG_DIFF_BIAS, .output = 1, .descriptor = d.argument(DNNL_ARG_DIFF_BIAS)});
  return dnnl_kernel([&] { return conv.descriptor(); }, std::move(arguments));
}

}  // namespace belfry
