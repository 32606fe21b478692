// Ops that pass values on.
#include <algorithm>
#include <cstring>

#include "belfry/array/internal/convert.h"
#include "belfry/array/internal/dispatch.h"
#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/kernel/view.h"

namespace belfry {
namespace {

const KernelRegistration identity_kernel = define_view_kernel("Identity");
const KernelRegistration placeholder_with_default_kernel = define_view_kernel("PlaceholderWithDefault");
const KernelRegistration stop_gradient_kernel = define_view_kernel("StopGradient");

const KernelRegistration no_op_kernel =
    define_kernel("NoOp").make([](const KernelContext&) { return simple_kernel([](const Buffers&, const Step&) {}); });

// The forward outputs come first among the inputs (graph/gradients.cc).
const KernelRegistration custom_gradient_kernel = define_kernel("CustomGradient").make([](const KernelContext& c) {
  std::vector<std::size_t> bytes;
  for (const TensorInfo& output : c.outputs) bytes.push_back(output.bytes());
  return simple_kernel([bytes = std::move(bytes)](const Buffers& b, const Step&) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] > 0) std::memcpy(b.outputs[i], b.inputs[i], bytes[i]);
  });
});

const KernelRegistration cast_kernel = define_kernel("Cast").make([](const KernelContext& c) {
  KernelPtr made;
  dispatch(c.input(0).dtype, [&]<class From>() {
    dispatch(c.output().dtype, [&]<class To>() {
      made = simple_kernel([n = c.output().elements()](const Buffers& b, const Step&) {
        const From* x = b.in<From>(0);
        To* y = b.out<To>();
        parallel_for(n, kPointwiseGrain, [=](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) y[i] = convert<To>(x[i]);
        });
      });
    });
  });
  return made;
});

KernelPtr make_fill(const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const T value = convert<T>(c.attributes->get<double>("value"));
    return simple_kernel(
        [value, n = c.output().elements()](const Buffers& b, const Step&) { std::fill_n(b.out<T>(), n, value); });
  });
}
const KernelRegistration fill_kernel = define_kernel("Fill").make(make_fill);
const KernelRegistration fill_like_kernel = define_kernel("FillLike").make(make_fill);

}  // namespace
}  // namespace belfry
