#include "belfry/engine/cpu/conv/few_channels.h"

#include <algorithm>

#include "belfry/engine/cpu/conv/few_channels_team.h"
#include "belfry/engine/cpu/lanes/channel_layout.h"

namespace belfry {
namespace {

int axis_of(const ConvGeometry& g) { return g.channels_last ? 3 : 1; }

}  // namespace

// oneDNN pads channels to a vector: with 4, three quarters of its work is on padding with AVX-512, half of it with
// AVX2, where this code needs more outputs to be faster. The columns must not be too long, nor dy too short.
bool has_few_channels(const ConvCall& call) {
  const ConvGeometry& g = call.g;
  const std::int64_t fewest_outputs = cpu_isa() == Isa::avx512 ? 16 : std::max<std::int64_t>(16, 12 * g.c);
  return call.pass == ConvPass::backward_data && g.groups == 1 && g.c <= 4 && (g.channels_last || g.c == 1) &&
         g.kh * g.kw * g.c <= 96 && g.o >= fewest_outputs;
}

LayoutChoice few_channels_layouts(const KernelContext& c, const ConvCall& call) {
  LayoutChoice choice = plain_layouts(c);
  choice.inputs[static_cast<std::size_t>(call.dy)] = channel_layout(c.input(call.dy), axis_of(call.g));
  return choice;
}

KernelPtr make_few_channels(const KernelContext& c, const ConvCall& call) {
  const ActivationView view = activation_view(c.input(call.dy), axis_of(call.g));
  return simple_kernel(
      [g = call.g, view, dy = call.dy](const Buffers& b, const Step&) {
        few_channels_backward_data({.g = g,
                                    .dy_view = view,
                                    .filter = b.in<float>(1),
                                    .dy = b.in<float>(dy),
                                    .dx = b.out<float>(),
                                    .scratch = b.scratch});
      },
      few_channels_scratch_bytes(call.g, c.threads));
}

}  // namespace belfry
