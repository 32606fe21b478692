#include "belfry/engine/cpu/dnnl_conv.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <utility>

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

// Takes one of oneDNN's implementations of an operation, which come with its favourite first.
using Pick = std::function<bool(const DnnlDescriptor&)>;

// The first that `pick` takes (without one the favourite); null if there is none.
dnnl_primitive_desc_t implementation_of(const dnnl_convolution_desc_t& operation, const DnnlAttributes& attributes,
                                        const_dnnl_primitive_desc_t hint, const Pick& pick) {
  if (!pick) {
    dnnl_primitive_desc_t favourite = nullptr;
    if (dnnl_primitive_desc_create(&favourite, &operation, attributes.handle(), dnnl_cpu_engine(), hint) !=
        dnnl_success)
      return nullptr;
    return favourite;
  }
  dnnl_primitive_desc_iterator_t all = nullptr;
  if (dnnl_primitive_desc_iterator_create(&all, &operation, attributes.handle(), dnnl_cpu_engine(), hint) !=
      dnnl_success)
    return nullptr;
  dnnl_primitive_desc_t found = nullptr;
  do {
    DnnlDescriptor next(dnnl_primitive_desc_iterator_fetch(all));
    if (pick(next)) found = next.release();
  } while (found == nullptr && dnnl_primitive_desc_iterator_next(all) == dnnl_success);
  dnnl_primitive_desc_iterator_destroy(all);
  return found;
}

// Algorithms by name: these two, or "direct/<implementation>" for one of oneDNN's that is not its favourite.
constexpr std::string_view kDirect = "direct", kWinograd = "winograd", kOther = "direct/";

// The primitive of one pass, with every layout left to oneDNN.
struct Convolution {
  ConvGeometry g;
  Pass pass = Pass::forward;
  bool bias = false, relu = false;
  std::string algorithm{};  // empty: by the fixed rule

  DnnlDescriptor descriptor() const {
    if (algorithm.empty() ? winograd_wins(g, pass) : algorithm == kWinograd)
      if (dnnl_primitive_desc_t pd = try_create(dnnl_convolution_winograd)) return DnnlDescriptor(pd);
    Pick pick;
    if (algorithm.starts_with(kOther))
      pick = [&](const DnnlDescriptor& d) { return d.implementation() == algorithm.substr(kOther.size()); };
    dnnl_primitive_desc_t pd = try_create(dnnl_convolution_direct, pick);
    BELFRY_CHECK(pd != nullptr, "[conv2d] expected a convolution that oneDNN has, got none for {} with filter {}",
                 to_string(g.input_shape()), to_string(g.filter_shape()));
    return DnnlDescriptor(pd);
  }

  // Those that leave the images in the layouts that the rule gives them: timed alone, an algorithm cannot answer for
  // its neighbours' reorders. With and without bias and ReLU they are the same.
  Algorithms algorithms() const {
    const Convolution bare{.g = g, .pass = pass};
    const Convolution full{.g = g, .pass = pass, .bias = pass != Pass::backward_data, .relu = pass == Pass::forward};
    const DnnlDescriptor rule = bare.descriptor();
    const std::vector<std::string> of_bare = bare.names_like(rule), of_full = full.names_like(rule);
    Algorithms out{.problem = bare.problem()};
    for (const std::string& name : of_bare)
      if (std::ranges::find(of_full, name) != of_full.end()) out.names.push_back(name);
    return out;
  }

 private:
  // All that give the images these layouts, the rule's first.
  std::vector<std::string> names_like(const DnnlDescriptor& rule) const {
    std::vector<std::string> out;
    bool favourite = true;
    try_create(dnnl_convolution_direct, [&](const DnnlDescriptor& d) {
      const std::string name = d.implementation();
      const bool is_favourite = std::exchange(favourite, false);
      if (same_images(d, rule) && (is_favourite || !name.starts_with("ref")))  // which takes seconds
        out.push_back(is_favourite ? std::string(kDirect) : std::string(kOther) + name);
      return false;
    });
    try_create(dnnl_convolution_winograd, [&](const DnnlDescriptor& d) {
      if (same_images(d, rule)) out.insert(winograd_wins(g, pass) ? out.begin() : out.end(), std::string(kWinograd));
      return false;
    });
    return out;
  }

  bool same_images(const DnnlDescriptor& a, const DnnlDescriptor& b) const {
    for (int arg : {pass == Pass::backward_data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC,
                    pass == Pass::forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST}) {
      const dnnl_memory_desc_t of_a = a.argument(arg), of_b = b.argument(arg);
      if (dnnl_memory_desc_equal(&of_a, &of_b) == 0) return false;
    }
    return true;
  }

  std::string problem() const {
    constexpr std::string_view kPasses[] = {"forward", "backward_data", "backward_filter"};
    return fmt::format("conv2d {} x{} filter{} strides {}x{} dilations {}x{} pads {},{},{},{} groups {} {} f32",
                       kPasses[static_cast<int>(pass)], to_string(g.input_shape()), to_string(g.filter_shape()),
                       g.strides.height, g.strides.width, g.dilations.height, g.dilations.width, g.pads.top,
                       g.pads.bottom, g.pads.left, g.pads.right, g.groups, g.channels_last ? "nhwc" : "nchw");
  }

  dnnl_primitive_desc_t try_create(dnnl_alg_kind_t algorithm, const Pick& pick = {}) const {
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
    if (pass == Pass::forward) return implementation_of(desc, attributes, nullptr, pick);
    const DnnlDescriptor hint(implementation_of(desc, attributes, nullptr, {}));
    if (hint.handle() == nullptr) return nullptr;
    if (pass == Pass::backward_data)
      dnnl_check(dnnl_dilated_convolution_backward_data_desc_init(&desc, algorithm, &x, &w, &y, strides, dilations,
                                                                  before, after),
                 "convolution backward");
    else
      dnnl_check(dnnl_dilated_convolution_backward_weights_desc_init(&desc, algorithm, &x, &w, bias_of_pass, &y,
                                                                     strides, dilations, before, after),
                 "convolution backward");
    const DnnlAttributes plain;
    return implementation_of(desc, plain, hint.handle(), pick);
  }
};

Layout layout_of(const DnnlDescriptor& d, int arg, const ConvGeometry& g, bool filter) {
  return Layout::of(permuted(d.argument(arg), from_dnnl(g, filter)));
}

Convolution forward_of(const KernelContext& c) {
  return {.g = conv_geometry(c.input(0).shape, c.input(1).shape, *c.attributes),
          .pass = Pass::forward,
          .bias = c.inputs.size() > 2,
          .relu = c.attributes->flag("relu"),
          .algorithm = c.attributes->get_or<std::string>(kAlgorithm, "")};
}
Convolution backward_data_of(const KernelContext& c) {
  return {.g = conv_geometry(c.input(0).shape, c.input(1).shape, *c.attributes),
          .pass = Pass::backward_data,
          .algorithm = c.attributes->get_or<std::string>(kAlgorithm, "")};
}
Convolution backward_filter_of(const KernelContext& c) {
  return {.g = conv_geometry(c.input(0).shape, c.input(1).shape, *c.attributes),
          .pass = Pass::backward_filter,
          .bias = c.outputs.size() > 1,
          .algorithm = c.attributes->get_or<std::string>(kAlgorithm, "")};
}

}  // namespace

bool dnnl_does(const ConvTensors& t, const Attributes& attributes) {
  return t.dtype == DType::f32 && attributes.integer("groups") == 1 && t.x.elements() > 0 && t.filter.elements() > 0 &&
         t.y.elements() > 0;
}

Algorithms conv_forward_algorithms(const KernelContext& c) { return forward_of(c).algorithms(); }
Algorithms conv_backward_data_algorithms(const KernelContext& c) { return backward_data_of(c).algorithms(); }
Algorithms conv_backward_filter_algorithms(const KernelContext& c) { return backward_filter_of(c).algorithms(); }

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
