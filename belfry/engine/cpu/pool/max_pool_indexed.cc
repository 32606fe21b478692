// Max pooling that stores the winners' indices, and its gradient from them. Made by the fuse pass from MaxPool and
// MaxPoolGrad.
#include "belfry/engine/cpu/pool/pool_view.h"

namespace belfry {
namespace {

const KernelRegistration forward_kernel =
    define_kernel("MaxPoolIndexed")
        .layout_rule([](const KernelContext& c) {
          const Layout x = pool_layout(c.input(0), *c.attributes), y = pool_layout_like(x, c.output(), *c.attributes);
          const std::int64_t index = pooling_of(c.input(0).shape, x, *c.attributes).out_elements();
          return LayoutChoice{{x}, {y, Layout()}, {{1, Shape{index}}}};
        })
        .make([](const KernelContext& c) {
          const Pooling pooling = pooling_of(c.input(0).shape, c.input(0).layout, *c.attributes);
          return simple_kernel([pooling](const Buffers& b, const Step&) {
            max_pool_forward(
                {.pooling = pooling, .x = b.in<float>(0), .y = b.out<float>(0), .index = b.out<std::uint8_t>(1)});
          });
        });

// Inputs index, dy, y; output dx. With attribute "relu" it includes the gradient of a relu before the pooling.
const KernelRegistration backward_kernel =
    define_kernel("MaxPoolIndexedGrad")
        .layout_rule([](const KernelContext& c) {
          const Layout y = pool_layout(c.input(2), *c.attributes);
          return LayoutChoice{{Layout(), y, y}, {pool_layout_like(y, c.output(), *c.attributes)}};
        })
        .make([](const KernelContext& c) {
          const Pooling pooling = pooling_of(c.output().shape, c.output().layout, *c.attributes);
          return simple_kernel([pooling, relu = c.attributes->flag("relu")](const Buffers& b, const Step&) {
            max_pool_backward({.pooling = pooling,
                               .dy = b.in<float>(1),
                               .index = b.in<std::uint8_t>(0),
                               .y = relu ? b.in<float>(2) : nullptr,
                               .dx = b.out<float>(0)});
          });
        });

}  // namespace
}  // namespace belfry
