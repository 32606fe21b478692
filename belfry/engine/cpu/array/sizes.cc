// Sizes as values, for runs that compute with them. Sizes that are only used in shapes are never run.
#include <algorithm>

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/ops/internal/left_over.h"

namespace belfry {
namespace {

const KernelRegistration shape_of_kernel = define_kernel("ShapeOf").make([](const KernelContext& c) {
  return simple_kernel([shape = c.input(0).shape](const Buffers& b, const Step&) {
    std::copy(shape.begin(), shape.end(), b.out<std::int64_t>());
  });
});

const KernelRegistration size_of_kernel = define_kernel("SizeOf").make([](const KernelContext& c) {
  const std::int64_t size = c.input(0).shape[static_cast<int>(c.attributes->integer("axis"))];
  return simple_kernel([size](const Buffers& b, const Step&) { *b.out<std::int64_t>() = size; });
});

const KernelRegistration pack_sizes_kernel = define_kernel("PackSizes").make([](const KernelContext& c) {
  return simple_kernel([numbers = c.attributes->get<Ints>("numbers"), places = c.attributes->get<Ints>("places")](
                           const Buffers& b, const Step&) {
    auto* y = b.out<std::int64_t>();
    std::ranges::copy(numbers, y);
    for (std::size_t i = 0; i < places.size(); ++i) y[places[i]] = *b.in<std::int64_t>(static_cast<int>(i));
  });
});

// More than one -1, or sizes that do not divide, are left unchanged: the op that uses them throws.
const KernelRegistration complete_sizes_kernel = define_kernel("CompleteSizes").make([](const KernelContext& c) {
  return simple_kernel([x = c.input(0).shape, rank = c.output().elements()](const Buffers& b, const Step&) {
    const std::span sizes(b.in<std::int64_t>(1), static_cast<std::size_t>(rank));
    std::ranges::replace_copy(sizes, b.out<std::int64_t>(), kAny, left_over(x, sizes).value_or(kAny));
  });
});

}  // namespace
}  // namespace belfry
