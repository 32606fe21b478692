#include <algorithm>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/view.h"
#include "belfry/engine/cpu/reduce/reduce_team.h"
#include "belfry/engine/cpu/reduce/reduction.h"

namespace belfry {
namespace {

const KernelRegistration broadcast_like_kernel = define_kernel("BroadcastLike").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const StridedLoop<1> loop(c.output().shape, {broadcast_strides(c.input(0).shape, c.output().shape)});
    return simple_kernel([loop](const Buffers& b, const Step&) {
      const T* x = b.in<T>(0);
      T* y = b.out<T>();
      loop.run([&](std::int64_t at, const auto& offsets, std::int64_t count) {
        if (loop.step(0) == 0)
          std::fill_n(y + at, count, x[offsets[0]]);
        else
          std::copy_n(x + offsets[0], count, y + at);
      });
    });
  });
});

// The axes that `from` has and a tensor of shape `to` would be repeated along.
AxisSet repeated_axes(const Shape& from, const Shape& to) {
  AxisSet out{};
  const int missing = from.rank() - to.rank();
  for (int i = 0; i < from.rank(); ++i) out[static_cast<std::size_t>(i)] = i < missing || to[i - missing] != from[i];
  return out;
}

// f32 summed over leading axes, as the gradient of a bias is: columns of a matrix, by the vector kernels.
KernelPtr make_column_sums(const KernelContext& c) {
  const std::int64_t inner = c.output().elements(), rows = c.input(0).elements() / inner;
  return simple_kernel([inner, rows](const Buffers& b, const Step&) {
    reduce_axis({.input = b.in<float>(0), .output = b.out<float>(), .axis = rows, .inner = inner});
  });
}

bool sums_columns(const KernelContext& c) {
  const Shape &from = c.input(0).shape, &to = c.output().shape;
  return c.output().dtype == f32 && c.input(0).elements() > 0 && to.rank() > 0 && from.rank() >= to.rank() &&
         from.slice(from.rank() - to.rank(), from.rank()) == to && to.elements() > 1;
}

const KernelRegistration sum_to_like_kernel = define_kernel("SumToLike").make([](const KernelContext& c) {
  if (sums_columns(c)) return make_column_sums(c);
  return make_for<Numbers>(c, c.output().dtype, [&]<class T>() {
    const Reduction reduction(c.input(0).shape, repeated_axes(c.input(0).shape, c.output().shape));
    return simple_kernel(
        [reduction](const Buffers& b, const Step&) { reduction.run(b.in<T>(0), b.out<T>(), b.scratch, SumFold<T>{}); },
        reduction.scratch_bytes<SumFold<T>>());
  });
});

const KernelRegistration reshape_like_kernel = define_view_kernel("ReshapeLike");
const KernelRegistration match_sizes_kernel = define_view_kernel("MatchSizes");

}  // namespace
}  // namespace belfry
