#include "belfry/engine/cpu/conv/dnnl_conv.h"

#include <oneapi/dnnl/dnnl.h>

#include <optional>

#include "belfry/engine/cpu/conv/dnnl_conv_choice.h"
#include "belfry/engine/cpu/conv/dnnl_groups.h"
#include "belfry/engine/cpu/dnnl/dnnl_kernel.h"
#include "belfry/engine/cpu/dnnl/staged_kernel.h"

namespace belfry {
namespace {

// Which operand of the op is which argument of the primitive.
struct ConvOperand {
  int arg = 0;
  int input = -1, output = -1;
  enum class Kind { image, filter, bias } kind = Kind::image;
};

std::vector<ConvOperand> operands_of(const ConvCall& call) {
  using enum ConvOperand::Kind;
  std::vector<ConvOperand> all;
  switch (call.pass) {
    case ConvPass::forward:
      all = {{DNNL_ARG_SRC, 0, -1, image}, {DNNL_ARG_WEIGHTS, 1, -1, filter}, {DNNL_ARG_DST, -1, 0, image}};
      if (call.bias) all.push_back({DNNL_ARG_BIAS, 2, -1, bias});
      break;
    case ConvPass::backward_data:
      all = {{DNNL_ARG_WEIGHTS, 1, -1, filter},
             {DNNL_ARG_DIFF_DST, call.dy, -1, image},
             {DNNL_ARG_DIFF_SRC, -1, 0, image}};
      break;
    case ConvPass::backward_filter:
      all = {{DNNL_ARG_SRC, 0, -1, image},
             {DNNL_ARG_DIFF_DST, call.dy, -1, image},
             {DNNL_ARG_DIFF_WEIGHTS, -1, 0, filter}};
      if (call.bias) all.push_back({DNNL_ARG_DIFF_BIAS, -1, 1, bias});
      break;
  }
  return all;
}

// Weights whose groups oneDNN pads have no layout in the op's terms: they stay plain, and the kernel reorders them.
bool must_be_staged(const ConvOperand& operand, const dnnl_memory_desc_t& descriptor) {
  dnnl_memory_desc_t merged;
  return operand.kind == ConvOperand::Kind::filter && descriptor.ndims == 5 && !merge_groups(descriptor, merged);
}

Layout layout_of(const ConvOperand& operand, dnnl_memory_desc_t descriptor, const ConvGeometry& g) {
  if (operand.kind == ConvOperand::Kind::bias || must_be_staged(operand, descriptor)) return {};
  if (operand.kind == ConvOperand::Kind::image) return belfry::layout_of(permuted(descriptor, image_axes(g)));
  if (descriptor.ndims == 5) {
    const dnnl_memory_desc_t grouped = descriptor;
    merge_groups(grouped, descriptor);
  }
  return belfry::layout_of(permuted(descriptor, filter_axes()));
}

}  // namespace

LayoutChoice dnnl_conv_layouts(const KernelContext& c, const ConvCall& call) {
  const DnnlDescriptor d = dnnl_conv_descriptor(call);
  LayoutChoice choice = plain_layouts(c);
  for (const ConvOperand& operand : operands_of(call)) {
    const Layout layout = layout_of(operand, d.argument(operand.arg), call.g);
    if (operand.input >= 0)
      choice.inputs[static_cast<std::size_t>(operand.input)] = layout;
    else
      choice.outputs[static_cast<std::size_t>(operand.output)] = layout;
  }
  return choice;
}

KernelPtr make_dnnl_conv(const ConvCall& call) {
  std::vector<DnnlArgument> arguments;
  std::optional<Stage> stage;
  const DnnlDescriptor d = dnnl_conv_descriptor(call);
  for (const ConvOperand& operand : operands_of(call)) {
    const dnnl_memory_desc_t descriptor = d.argument(operand.arg);
    arguments.push_back({operand.arg, operand.input, operand.output, descriptor});
    if (must_be_staged(operand, descriptor))
      stage = Stage{operand.input, operand.output, plain_grouped_filter(call.g), descriptor};
  }
  KernelPtr kernel = dnnl_kernel([&] { return dnnl_conv_descriptor(call); }, std::move(arguments));
  return stage ? staged_kernel(std::move(kernel), *stage) : std::move(kernel);
}

}  // namespace belfry
