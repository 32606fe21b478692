#include "belfry/engine/cpu/conv/dnnl_conv_choice.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/kernel/isa.h"

namespace belfry {
namespace {

template <int rank>
dnnl_memory_desc_t f32_of(const std::int64_t (&sizes)[rank], dnnl_format_tag_t tag) {
  dnnl_memory_desc_t out;
  dnnl_check(dnnl_memory_desc_init_by_tag(&out, rank, sizes, dnnl_f32, tag), "convolution descriptor");
  return out;
}

// A fixed rule by shape and instruction set, from measurements (AVX-512): Winograd's 4x4 tiles win on 3x3 filters of
// stride 1 from 32 channels on (16 for the filter's gradient), where they do not overhang the image by much. With many
// channels they may overhang more (14x14, 7x7), if there are enough tiles to justify transforming the filter.
bool winograd_wins(const ConvGeometry& g, ConvPass pass) {
  if (cpu_isa() != Isa::avx512 || g.groups != 1 || g.kh != 3 || g.kw != 3) return false;
  if (g.strides.height != 1 || g.strides.width != 1 || g.dilations.height != 1 || g.dilations.width != 1) return false;
  const std::int64_t least = pass == ConvPass::backward_filter ? 16 : 32, channels = std::min(g.c, g.o);
  if (channels < least) return false;
  const std::int64_t down = (g.oh + 3) / 4, across = (g.ow + 3) / 4, tiled = 16 * down * across, pixels = g.oh * g.ow;
  if (tiled * 5 <= pixels * 6) return true;
  return tiled * 3 <= pixels * 4 && channels >= 128 && g.n * down * across >= 128;
}

// Accepts or rejects one of oneDNN's implementations of an operation, which come with its favourite first.
using Pick = std::function<bool(const DnnlDescriptor&)>;

// The first that `pick` accepts (without `pick` the favourite); nothing if there is none.
std::optional<DnnlDescriptor> implementation_of(const dnnl_convolution_desc_t& operation,
                                                const DnnlAttributes& attributes, const_dnnl_primitive_desc_t hint,
                                                const Pick& pick) {
  dnnl_primitive_desc_iterator_t all = nullptr;
  if (dnnl_primitive_desc_iterator_create(&all, &operation, attributes.handle(), dnnl_cpu_engine(), hint) !=
      dnnl_success)
    return std::nullopt;
  std::optional<DnnlDescriptor> found;
  do {
    DnnlDescriptor next(dnnl_primitive_desc_iterator_fetch(all));
    if (!pick || pick(next)) found.emplace(std::move(next));
  } while (!found && dnnl_primitive_desc_iterator_next(all) == dnnl_success);
  dnnl_primitive_desc_iterator_destroy(all);
  return found;
}

// The primitive of one pass; nothing if oneDNN has none. `images` is the layout of images, or dnnl_format_tag_any.
std::optional<DnnlDescriptor> describe(const ConvCall& call, dnnl_alg_kind_t algorithm, dnnl_format_tag_t images,
                                       const Pick& pick = {}) {
  const ConvGeometry& g = call.g;
  const std::int64_t i = g.c / g.groups, o = g.o / g.groups;
  const dnnl_memory_desc_t x = f32_of<4>({g.n, g.c, g.h, g.w}, images), y = f32_of<4>({g.n, g.o, g.oh, g.ow}, images),
                           w = g.groups == 1 ? f32_of<4>({o, i, g.kh, g.kw}, dnnl_format_tag_any)
                                             : f32_of<5>({g.groups, o, i, g.kh, g.kw}, dnnl_format_tag_any),
                           b = f32_of<1>({g.o}, dnnl_a);
  const dnnl_dims_t strides{g.strides.height, g.strides.width},
      dilations{g.dilations.height - 1, g.dilations.width - 1};
  const dnnl_dims_t before{g.pads.top, g.pads.left}, after{g.pads.bottom, g.pads.right};
  const dnnl_memory_desc_t* bias = call.bias ? &b : nullptr;
  DnnlAttributes attributes;
  if (call.relu) attributes.append_relu(call.alpha);
  dnnl_convolution_desc_t desc;
  dnnl_check(dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, algorithm, &x, &w, bias, &y,
                                                        strides, dilations, before, after),
             "convolution");
  if (call.pass == ConvPass::forward) return implementation_of(desc, attributes, nullptr, pick);
  const std::optional<DnnlDescriptor> forward = implementation_of(desc, attributes, nullptr, {});
  if (!forward) return std::nullopt;
  dnnl_check(call.pass == ConvPass::backward_data
                 ? dnnl_dilated_convolution_backward_data_desc_init(&desc, algorithm, &x, &w, &y, strides, dilations,
                                                                    before, after)
                 : dnnl_dilated_convolution_backward_weights_desc_init(&desc, algorithm, &x, &w, bias, &y, strides,
                                                                       dilations, before, after),
             "convolution backward");
  return implementation_of(desc, attributes, forward->handle(), pick);
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

// Algorithms by name: these two, or "direct/<implementation>" for one of oneDNN's that is not its favourite.
constexpr std::string_view kDirect = "direct", kWinograd = "winograd", kOther = "direct/";

bool same_images(const ConvCall& call, const DnnlDescriptor& a, const DnnlDescriptor& b) {
  for (int arg : {call.pass == ConvPass::backward_data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC,
                  call.pass == ConvPass::forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST}) {
    const dnnl_memory_desc_t of_a = a.argument(arg), of_b = b.argument(arg);
    if (dnnl_memory_desc_equal(&of_a, &of_b) == 0) return false;
  }
  return true;
}

// All algorithms that give the images the rule's layouts, the rule's choice first.
std::vector<std::string> names_like(const ConvCall& call, const DnnlDescriptor& rule) {
  std::vector<std::string> out, seen;
  describe(call, dnnl_convolution_direct, dnnl_format_tag_any, [&](const DnnlDescriptor& d) {
    const std::string name = d.implementation();
    const bool is_favourite = seen.empty(), is_slow = name.starts_with("ref");  // it takes seconds
    const bool is_clear = std::ranges::find(seen, name) == seen.end();
    seen.push_back(name);
    if (same_images(call, d, rule) && (is_favourite || (is_clear && !is_slow)))
      out.push_back(is_favourite ? std::string(kDirect) : std::string(kOther) + name);
    return false;
  });
  describe(call, dnnl_convolution_winograd, dnnl_format_tag_any, [&](const DnnlDescriptor& d) {
    if (same_images(call, d, rule))
      out.insert(winograd_wins(call.g, call.pass) ? out.begin() : out.end(), std::string(kWinograd));
    return false;
  });
  return out;
}

std::string problem_of(const ConvCall& call) {
  constexpr std::string_view kPasses[] = {"forward", "backward_data", "backward_filter"};
  const ConvGeometry& g = call.g;
  return fmt::format("conv2d {} x{} filter{} strides {}x{} dilations {}x{} pads {},{},{},{} groups {} {} f32",
                     kPasses[static_cast<int>(call.pass)], to_string(g.input_shape()), to_string(g.filter_shape()),
                     g.strides.height, g.strides.width, g.dilations.height, g.dilations.width, g.pads.top,
                     g.pads.bottom, g.pads.left, g.pads.right, g.groups, g.channels_last ? "nhwc" : "nchw");
}

}  // namespace

bool dnnl_is_fast(const ConvCall& call) { return blocked(call).has_value(); }

// A fixed rule by shape and instruction set. For groups, channels-last images keep oneDNN on generated code where
// blocks of channels would straddle groups; measured 3 to 5 times as fast as the matrix products used otherwise.
DnnlDescriptor dnnl_conv_descriptor(const ConvCall& call) {
  if (call.algorithm.empty() ? winograd_wins(call.g, call.pass) : call.algorithm == kWinograd)
    if (auto d = describe(call, dnnl_convolution_winograd, dnnl_format_tag_any)) return std::move(*d);
  if (call.g.groups > 1) {
    if (auto d = blocked(call)) return std::move(*d);
    if (auto d = describe(call, dnnl_convolution_direct, dnnl_nhwc); d && is_generated(*d)) return std::move(*d);
  }
  Pick pick;
  if (call.algorithm.starts_with(kOther))
    pick = [&](const DnnlDescriptor& d) { return d.implementation() == call.algorithm.substr(kOther.size()); };
  auto d = describe(call, dnnl_convolution_direct, dnnl_format_tag_any, pick);
  BELFRY_CHECK(d, "[conv2d] expected a convolution that oneDNN supports, got input {} with filter {}",
               to_string(call.g.input_shape()), to_string(call.g.filter_shape()));
  return std::move(*d);
}

// Algorithms that leave the images in the rule's layouts: timing one alone would not include its neighbours' reorders.
// They are the same with and without bias and ReLU. Groups follow only the rule.
Algorithms dnnl_conv_algorithms(const ConvCall& call) {
  const ConvCall bare{.g = call.g, .pass = call.pass};
  const ConvCall full{.g = call.g,
                      .pass = call.pass,
                      .bias = call.pass != ConvPass::backward_data,
                      .relu = call.pass == ConvPass::forward};
  Algorithms out{.problem = problem_of(bare)};
  if (call.g.groups > 1) return out;
  const DnnlDescriptor rule = dnnl_conv_descriptor(bare);
  const std::vector<std::string> of_bare = names_like(bare, rule), of_full = names_like(full, rule);
  for (const std::string& name : of_bare)
    if (std::ranges::find(of_full, name) != of_full.end()) out.names.push_back(name);
  return out;
}

}  // namespace belfry
