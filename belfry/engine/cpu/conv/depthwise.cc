#include "belfry/engine/cpu/conv/depthwise.h"

#include <oneapi/dnnl/dnnl.h>

#include "belfry/engine/cpu/conv/depthwise_team.h"
#include "belfry/engine/cpu/dnnl/dnnl_check.h"

namespace belfry {
namespace {

Layout image_layout(const ConvGeometry& g, const Shape& shape) {
  return channel_blocked(shape, g.channels_last ? 3 : 1, vector_width(cpu_isa()));
}

// [vector of outputs][kh][kw][lane]: the layout of oneDNN's depthwise kernels, so that passes share the weights.
Layout filter_layout(const ConvGeometry& g) {
  const dnnl_dims_t dims{g.o, 1, g.kh, g.kw};
  dnnl_memory_desc_t out;
  dnnl_check(
      dnnl_memory_desc_init_by_tag(&out, 4, dims, dnnl_f32, vector_width(cpu_isa()) == 16 ? dnnl_Abcd16a : dnnl_Abcd8a),
      "depthwise weights");
  return layout_of(permuted(out, filter_axes()));
}

Depthwise depthwise_of(const ConvGeometry& g) {
  return {.images = g.n,
          .channels = g.c,
          .multiplier = g.o / g.c,
          .window = {.in_h = g.h,
                     .in_w = g.w,
                     .out_h = g.oh,
                     .out_w = g.ow,
                     .kernel_h = g.kh,
                     .kernel_w = g.kw,
                     .stride_h = g.strides.height,
                     .stride_w = g.strides.width,
                     .dilation_h = g.dilations.height,
                     .dilation_w = g.dilations.width,
                     .pad_top = g.pads.top,
                     .pad_left = g.pads.left}};
}

}  // namespace

LayoutChoice depthwise_layouts(const KernelContext& c, const ConvCall& call) {
  const ConvGeometry& g = call.g;
  const auto dy = static_cast<std::size_t>(call.dy);
  const Layout x = image_layout(g, g.input_shape()), y = image_layout(g, g.output_shape()), filter = filter_layout(g);
  LayoutChoice choice = plain_layouts(c);
  switch (call.pass) {
    case ConvPass::forward: choice.inputs[0] = x, choice.inputs[1] = filter, choice.outputs[0] = y; break;
    case ConvPass::backward_data: choice.inputs[1] = filter, choice.inputs[dy] = y, choice.outputs[0] = x; break;
    case ConvPass::backward_filter: choice.inputs[0] = x, choice.inputs[dy] = y, choice.outputs[0] = filter; break;
  }
  return choice;
}

KernelPtr make_depthwise(const KernelContext& c, const ConvCall& call) {
  const Depthwise conv = depthwise_of(call.g);
  switch (call.pass) {
    case ConvPass::forward:
      return simple_kernel([conv, call](const Buffers& b, const Step&) {
        depthwise_forward({.conv = conv,
                           .x = b.in<float>(0),
                           .filter = b.in<float>(1),
                           .bias = call.bias ? b.in<float>(2) : nullptr,
                           .relu = call.relu,
                           .y = b.out<float>()});
      });
    case ConvPass::backward_data:
      return simple_kernel(
          [conv, dy = call.dy](const Buffers& b, const Step&) {
            depthwise_backward_data({.conv = conv,
                                     .filter = b.in<float>(1),
                                     .dy = b.in<float>(dy),
                                     .dx = b.out<float>(),
                                     .scratch = b.scratch});
          },
          depthwise_backward_data_scratch(conv, c.threads));
    case ConvPass::backward_filter: break;
  }
  return simple_kernel(
      [conv, call](const Buffers& b, const Step&) {
        depthwise_backward_filter({.conv = conv,
                                   .x = b.in<float>(0),
                                   .dy = b.in<float>(2),
                                   .dfilter = b.out<float>(0),
                                   .dbias = call.bias ? b.out<float>(1) : nullptr,
                                   .scratch = b.scratch});
      },
      depthwise_backward_filter_scratch(conv, c.threads));
}

}  // namespace belfry
