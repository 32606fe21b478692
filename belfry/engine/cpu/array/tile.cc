#include <algorithm>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/reduce/reduction.h"

namespace belfry {
namespace {

// The repeated tensor with an axis for the copies before each axis that is repeated.
struct Copies {
  Copies(const Shape& x, const Ints& multiples) {
    const Strides dense = dense_strides(x);
    for (int i = 0; i < x.rank(); ++i) {
      const std::int64_t multiple = multiples[static_cast<std::size_t>(i)];
      if (multiple != 1) add(multiple, 0, true);
      if (multiple == 1 || x[i] != 1) add(x[i], dense[static_cast<std::size_t>(i)], false);
    }
  }
  void add(std::int64_t size, std::int64_t stride, bool is_copy) {
    const auto at = static_cast<std::size_t>(shape.rank());
    strides[at] = stride;
    copies[at] = is_copy;
    shape.push_back(size);
  }

  Shape shape;
  Strides strides{};
  AxisSet copies{};
};

// How many times x is repeated along each axis.
Ints multiples_of(const Shape& x, const Shape& whole) {
  Ints out;
  for (int i = 0; i < x.rank(); ++i) out.push_back(x[i] == 0 ? 1 : whole[i] / x[i]);
  return out;
}

KernelPtr make_tile(const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const Copies copies(c.input(0).shape, multiples_of(c.input(0).shape, c.output().shape));
    return simple_kernel([loop = StridedLoop<1>(copies.shape, {copies.strides})](const Buffers& b, const Step&) {
      take(loop, b.in<T>(0), b.out<T>());
    });
  });
}
const KernelRegistration tile_kernel = define_kernel("Tile").make(make_tile);
const KernelRegistration tile_like_kernel = define_kernel("TileLike").make(make_tile);

// The copies in input `index`.
KernelPtr make_sum_of_copies(const KernelContext& c, int index) {
  return make_for<Numbers>(c, c.output().dtype, [&]<class T>() {
    const Copies copies(c.output().shape, multiples_of(c.output().shape, c.input(index).shape));
    const Reduction sum(copies.shape, copies.copies);
    return simple_kernel(
        [sum, index](const Buffers& b, const Step&) { sum.run(b.in<T>(index), b.out<T>(), b.scratch, SumFold<T>{}); },
        sum.scratch_bytes<SumFold<T>>());
  });
}
const KernelRegistration tile_grad_kernel =
    define_kernel("TileGrad").make([](const KernelContext& c) { return make_sum_of_copies(c, 1); });
const KernelRegistration sum_tiles_like_kernel =
    define_kernel("SumTilesLike").make([](const KernelContext& c) { return make_sum_of_copies(c, 0); });

}  // namespace
}  // namespace belfry
