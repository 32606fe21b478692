#include <algorithm>

#include "belfry/engine/cpu/kernel_dispatch.h"
#include "belfry/engine/cpu/kernels/reduce.h"
#include "belfry/engine/cpu/reduction.h"
#include "belfry/engine/cpu/view.h"

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

// Whether rows of x are added up and nothing else: the gradient of a bias.
bool sums_rows(const AxisSet& repeated, const Shape& x) {
  int axis = 0;
  while (axis < x.rank() && repeated[static_cast<std::size_t>(axis)]) ++axis;
  return axis > 0 && std::none_of(repeated.begin() + axis, repeated.end(), [](bool r) { return r; });
}

KernelPtr make_row_sum(std::int64_t rows, std::int64_t columns) {
  return simple_kernel([rows, columns](const Buffers& b, const Step&) {
    reduce_axis(
        {.op = ReduceOp::sum, .input = b.in<float>(0), .output = b.out<float>(), .axis = rows, .inner = columns});
  });
}

const KernelRegistration sum_to_like_kernel = define_kernel("SumToLike").make([](const KernelContext& c) {
  const AxisSet repeated = repeated_axes(c.input(0).shape, c.output().shape);
  if (c.output().dtype == f32 && c.output().elements() > 1 && sums_rows(repeated, c.input(0).shape))
    return make_row_sum(c.input(0).elements() / c.output().elements(), c.output().elements());
  return make_for<Numbers>(c, c.output().dtype, [&]<class T>() {
    const Reduction reduction(c.input(0).shape, repeated);
    return simple_kernel(
        [reduction](const Buffers& b, const Step&) { reduction.run(b.in<T>(0), b.out<T>(), b.scratch, SumFold<T>{}); },
        reduction.scratch_bytes<SumFold<T>>());
  });
});

const KernelRegistration reshape_like_kernel = define_view_kernel("ReshapeLike");

}  // namespace
}  // namespace belfry
