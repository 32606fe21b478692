// Transposed convolutions run as gradients with respect to images. Those have no bias or activation inside: if the
// fuse pass asks for them, a pass over the result follows.
#include <algorithm>

#include "belfry/engine/cpu/conv/bias_activation.h"
#include "belfry/engine/cpu/conv/conv.h"
#include "belfry/engine/cpu/lanes/channel_layout.h"
#include "belfry/engine/flops.h"

namespace belfry {
namespace {

const KernelRegistration plain_kernel =
    define_conv_kernel("Conv2DTranspose", {0, 1}, conv_transpose_flops, transpose_call);

// Inputs x, filter, bias; attributes "relu" and its "alpha".
class FusedConvTranspose final : public Kernel {
 public:
  explicit FusedConvTranspose(const KernelContext& c)
      : conv_(make_conv(c, transpose_call(c))),
        after_{.view = activation_view(c.output(), c.output().shape.rank() - 1),
               .relu = c.attributes->flag("relu"),
               .alpha = static_cast<float>(c.attributes->get_or<double>("alpha", 0))},
        own_scratch_(bias_activation_scratch_bytes(after_.view, c.threads)) {}

  // They run one after the other, so they share scratch.
  std::size_t scratch_bytes() const override { return std::max(conv_->scratch_bytes(), own_scratch_); }
  std::string describe() const override { return conv_->describe(); }
  bool is_dnnl() const override { return conv_->is_dnnl(); }

  void bind(const Buffers& b) override {
    after_.bias = b.in<float>(2);
    after_.x = b.out<float>();
    after_.scratch = b.scratch;
    conv_->bind(b);
  }
  void run(const Step& step) override {
    conv_->run(step);
    bias_activation(after_);
  }

 private:
  KernelPtr conv_;
  BiasActivation after_;
  std::size_t own_scratch_;
};

const KernelRegistration fused_kernel =
    define_kernel("FusedConvTranspose")
        .flops(conv_transpose_flops)
        .layout_rule([](const KernelContext& c) { return conv_layouts(c, transpose_call(c)); })
        .algorithms([](const KernelContext& c) { return conv_algorithms(c, transpose_call(c)); })
        .make([](const KernelContext& c) -> KernelPtr { return std::make_unique<FusedConvTranspose>(c); });

}  // namespace
}  // namespace belfry
