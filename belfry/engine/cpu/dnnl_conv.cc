#include "belfry/engine/cpu/dnnl_conv.h"

#include <oneapi/dnnl/dnnl.h>

#include <optional>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/dnnl_groups.h"
#include "belfry/engine/cpu/dnnl_kernel.h"
#include "belfry/engine/cpu/isa.h"
#include "belfry/engine/cpu/staged_kernel.h"

namespace belfry {
namespace {

template <int rank>
dnnl_memory_desc_t f32_of(const std::int64_t (&sizes)[rank], dnnl_format_tag_t tag) {
  dnnl_memory_desc_t out;
  dnnl_check(dnnl_memory_desc_init_by_tag(&out, rank, sizes, dnnl_f32, tag), "convolution descriptor");
  return out;
}

// A fixed rule by shape and instruction set, from measurements at batch 128 (AVX-512): Winograd's 4x4 tiles win on 3x3
// filters of stride 1 from 32 channels on (16 for the filter's gradient), where they do not overhang the image by much.
bool winograd_wins(const ConvGeometry& g, ConvPass pass) {
  if (cpu_isa() != Isa::avx512 || g.groups != 1 || g.kh != 3 || g.kw != 3) return false;
  if (g.strides.height != 1 || g.strides.width != 1 || g.dilations.height != 1 || g.dilations.width != 1) return false;
  const std::int64_t least = pass == ConvPass::backward_filter ? 16 : 32;
  if (g.c < least || g.o < least) return false;
  const auto tiled = [](std::int64_t size) { return (size + 3) / 4 * 4; };
  return tiled(g.oh) * tiled(g.ow) * 5 <= g.oh * g.ow * 6;
}

// The primitive of one pass; none if oneDNN has none. `images` is the layout of images, or dnnl_format_tag_any.
std::optional<DnnlDescriptor> describe(const ConvCall& call, dnnl_alg_kind_t algorithm, dnnl_format_tag_t images) {
  const ConvGeometry& g = call.g;
  const std::int64_t i = g.c / g.groups, o = g.o / g.groups;
  const dnnl_memory_desc_t x = f32_of<4>({g.n, g.c, g.h, g.w}, images), y = f32_of<4>({g.n, g.o, g.oh, g.ow}, images),
                           w = g.groups == 1 ? f32_of<4>({o, i, g.kh, g.kw}, dnnl_format_tag_any)
                                             : f32_of<5>({g.groups, o, i, g.kh, g.kw}, dnnl_format_tag_any),
                           b = f32_of<1>({g.o}, dnnl_a);
  const dnnl_dims_t strides{g.strides.height, g.strides.width},
      dilations{g.dilations.height - 1, g.dilations.width - 1};
  const dnnl_dims_t before{g.pads.top, g.pads.left}, after{g.pads.bottom, g.pads.right};
  const auto create = [](const dnnl_convolution_desc_t& desc, const DnnlAttributes& attributes,
                         dnnl_primitive_desc_t hint) -> std::optional<DnnlDescriptor> {
    dnnl_primitive_desc_t pd = nullptr;
    if (dnnl_primitive_desc_create(&pd, &desc, attributes.handle(), dnnl_cpu_engine(), hint) != dnnl_success)
      return std::nullopt;
    return std::optional<DnnlDescriptor>(std::in_place, pd);
  };
  const dnnl_memory_desc_t* bias = call.bias ? &b : nullptr;
  DnnlAttributes attributes;
  if (call.relu) attributes.append_relu();
  dnnl_convolution_desc_t desc;
  dnnl_check(dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, algorithm, &x, &w, bias, &y,
                                                        strides, dilations, before, after),
             "convolution");
  std::optional<DnnlDescriptor> forward = create(desc, attributes, nullptr);
  if (call.pass == ConvPass::forward || !forward) return forward;
  dnnl_check(call.pass == ConvPass::backward_data
                 ? dnnl_dilated_convolution_backward_data_desc_init(&desc, algorithm, &x, &w, &y, strides, dilations,
                                                                    before, after)
                 : dnnl_dilated_convolution_backward_weights_desc_init(&desc, algorithm, &x, &w, bias, &y, strides,
                                                                       dilations, before, after),
             "convolution backward");
  return create(desc, attributes, forward->handle());
}

bool is_generated(const DnnlDescriptor& d) {
  const std::string name = d.implementation();
  return name.starts_with("jit") || name.starts_with("brg");
}

// oneDNN's own choice for this call, if it is generated code on images in blocks of 8 or 16 channels. (Blocks of 4,
// which it takes for groups of 4 channels, leave other kernels' vectors half empty.)
std::optional<DnnlDescriptor> blocked(const ConvCall& call) {
  std::optional<DnnlDescriptor> d = describe(call, dnnl_convolution_direct, dnnl_format_tag_any);
  if (!d || !is_generated(*d)) return std::nullopt;
  const dnnl_memory_desc_t y = d->argument(call.pass == ConvPass::forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST);
  const auto& format = y.format_desc.blocking;
  return format.inner_nblks == 1 && format.inner_blks[0] >= 8 ? std::move(d) : std::nullopt;
}

// A fixed rule by shape and instruction set. For groups, channels-last images keep oneDNN on generated code where
// blocks of channels would straddle groups; measured 3 to 5 times as fast as the matrix products that are left else.
DnnlDescriptor descriptor_of(const ConvCall& call) {
  if (winograd_wins(call.g, call.pass))
    if (auto d = describe(call, dnnl_convolution_winograd, dnnl_format_tag_any)) return std::move(*d);
  if (call.g.groups > 1) {
    if (auto d = blocked(call)) return std::move(*d);
    if (auto d = describe(call, dnnl_convolution_direct, dnnl_nhwc); d && is_generated(*d)) return std::move(*d);
  }
  auto d = describe(call, dnnl_convolution_direct, dnnl_format_tag_any);
  BELFRY_CHECK(d, "[conv2d] expected a convolution that oneDNN has, got none for {} with filter {}",
               to_string(call.g.input_shape()), to_string(call.g.filter_shape()));
  return std::move(*d);
}

// Which operand of the op is which argument of the primitive.
struct Operand {
  int arg = 0;
  int input = -1, output = -1;
  enum class Kind { image, filter, bias } kind = Kind::image;
};

std::vector<Operand> operands_of(const ConvCall& call) {
  using enum Operand::Kind;
  std::vector<Operand> all;
  switch (call.pass) {
    case ConvPass::forward:
      all = {{DNNL_ARG_SRC, 0, -1, image}, {DNNL_ARG_WEIGHTS, 1, -1, filter}, {DNNL_ARG_DST, -1, 0, image}};
      if (call.bias) all.push_back({DNNL_ARG_BIAS, 2, -1, bias});
      break;
    case ConvPass::backward_data:
      all = {{DNNL_ARG_WEIGHTS, 1, -1, filter}, {DNNL_ARG_DIFF_DST, 2, -1, image}, {DNNL_ARG_DIFF_SRC, -1, 0, image}};
      break;
    case ConvPass::backward_filter:
      all = {{DNNL_ARG_SRC, 0, -1, image}, {DNNL_ARG_DIFF_DST, 2, -1, image}, {DNNL_ARG_DIFF_WEIGHTS, -1, 0, filter}};
      if (call.bias) all.push_back({DNNL_ARG_DIFF_BIAS, -1, 1, bias});
      break;
  }
  return all;
}

// Weights whose groups oneDNN pads have no layout of the op's own: they stay plain, and the kernel reorders them.
bool must_be_staged(const Operand& operand, const dnnl_memory_desc_t& descriptor) {
  dnnl_memory_desc_t merged;
  return operand.kind == Operand::Kind::filter && descriptor.ndims == 5 && !merge_groups(descriptor, merged);
}

Layout layout_of(const Operand& operand, dnnl_memory_desc_t descriptor, const ConvGeometry& g) {
  if (operand.kind == Operand::Kind::bias || must_be_staged(operand, descriptor)) return {};
  if (operand.kind == Operand::Kind::image) return Layout::of(permuted(descriptor, image_axes(g)));
  if (descriptor.ndims == 5) {
    const dnnl_memory_desc_t grouped = descriptor;
    merge_groups(grouped, descriptor);
  }
  return Layout::of(permuted(descriptor, filter_axes()));
}

}  // namespace

bool dnnl_is_fast(const ConvCall& call) { return blocked(call).has_value(); }

LayoutChoice dnnl_conv_layouts(const KernelContext& c, ConvPass pass) {
  const ConvCall call = conv_call(c, pass);
  const DnnlDescriptor d = descriptor_of(call);
  LayoutChoice choice = plain_layouts(c);
  for (const Operand& operand : operands_of(call)) {
    const Layout layout = layout_of(operand, d.argument(operand.arg), call.g);
    if (operand.input >= 0)
      choice.inputs[static_cast<std::size_t>(operand.input)] = layout;
    else
      choice.outputs[static_cast<std::size_t>(operand.output)] = layout;
  }
  return choice;
}

KernelPtr make_dnnl_conv(const KernelContext& c, ConvPass pass) {
  const ConvCall call = conv_call(c, pass);
  std::vector<DnnlArgument> arguments;
  std::optional<Stage> stage;
  const DnnlDescriptor d = descriptor_of(call);
  for (const Operand& operand : operands_of(call)) {
    const dnnl_memory_desc_t descriptor = d.argument(operand.arg);
    arguments.push_back({operand.arg, operand.input, operand.output, descriptor});
    if (must_be_staged(operand, descriptor))
      stage = Stage{operand.input, operand.output, plain_grouped_filter(call.g), descriptor};
  }
  KernelPtr kernel = dnnl_kernel([&] { return descriptor_of(call); }, std::move(arguments));
  return stage ? staged_kernel(std::move(kernel), *stage) : std::move(kernel);
}

}  // namespace belfry
