// Copies of boxes between dense tensors.
#include <algorithm>
#include <vector>

#include "belfry/array/internal/convert.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {
namespace {

// A box of a dense tensor: where it begins, and the tensor's strides.
struct Box {
  Box(const Shape& whole, const Ints& begin) : strides(dense_strides(whole)) {
    for (std::size_t i = 0; i < begin.size(); ++i) offset += begin[i] * strides[i];
  }
  Strides strides;
  std::int64_t offset = 0;
};

// Copies a box of `shape` elements. Rows lie side by side in both tensors.
class BoxCopy {
 public:
  BoxCopy(const Shape& shape, const Box& from, const Box& to)
      : loop_(shape, {from.strides, to.strides}), from_(from.offset), to_(to.offset) {}

  template <class T>
  void run(const T* from, T* to) const {
    loop_.run([&](std::int64_t, const auto& offsets, std::int64_t count) {
      const T* x = from + from_ + offsets[0];
      T* y = to + to_ + offsets[1];
      if (loop_.step(0) == 1 && loop_.step(1) == 1)
        std::copy_n(x, count, y);
      else
        for (std::int64_t i = 0; i < count; ++i) y[i * loop_.step(1)] = x[i * loop_.step(0)];
    });
  }

 private:
  StridedLoop<2> loop_;
  std::int64_t from_, to_;
};

Ints zeros(const Shape& shape) { return Ints(static_cast<std::size_t>(shape.rank()), 0); }

// y = x[begin ..] of y's shape
KernelPtr make_slice(const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const Shape& part = c.output().shape;
    const BoxCopy copy(part, Box(c.input(0).shape, c.attributes->get<Ints>("begin")), Box(part, zeros(part)));
    return simple_kernel([copy](const Buffers& b, const Step&) { copy.run(b.in<T>(0), b.out<T>()); });
  });
}
const KernelRegistration slice_kernel = define_kernel("Slice").make(make_slice);
const KernelRegistration slice_like_kernel = define_kernel("SliceLike").make(make_slice);

// y = value everywhere but in the box that begins at `begin`, which is input `index`
KernelPtr make_surrounded(const KernelContext& c, int index, const Ints& begin, double value) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const Shape& part = c.input(index).shape;
    const BoxCopy copy(part, Box(part, zeros(part)), Box(c.output().shape, begin));
    return simple_kernel(
        [copy, index, n = c.output().elements(), fill = convert<T>(value)](const Buffers& b, const Step&) {
          T* y = b.out<T>();
          parallel_for(n, kPointwiseGrain,
                       [&](std::int64_t first, std::int64_t last) { std::fill(y + first, y + last, fill); });
          copy.run(b.in<T>(index), y);
        });
  });
}
const KernelRegistration pad_kernel = define_kernel("Pad").make([](const KernelContext& c) {
  return make_surrounded(c, 0, c.attributes->get<Ints>("before"), c.attributes->get<double>("value"));
});
const KernelRegistration slice_grad_kernel = define_kernel("SliceGrad").make([](const KernelContext& c) {
  return make_surrounded(c, 1, c.attributes->get<Ints>("begin"), 0);
});

// Boxes of the whole that lie one after the other along the axis, one per piece.
std::vector<Box> boxes_along(const KernelContext& c, const Shape& whole, std::span<const TensorInfo> pieces) {
  const auto axis = static_cast<std::size_t>(c.attributes->integer("axis"));
  std::vector<Box> out;
  Ints begin = zeros(whole);
  for (const TensorInfo& piece : pieces) {
    out.emplace_back(whole, begin);
    begin[axis] += piece.shape[static_cast<int>(axis)];
  }
  return out;
}

const KernelRegistration concat_kernel = define_kernel("Concat").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const std::vector<Box> boxes = boxes_along(c, c.output().shape, c.inputs);
    std::vector<BoxCopy> copies;
    for (std::size_t i = 0; i < boxes.size(); ++i)
      copies.emplace_back(c.inputs[i].shape, Box(c.inputs[i].shape, zeros(c.inputs[i].shape)), boxes[i]);
    return simple_kernel([copies = std::move(copies)](const Buffers& b, const Step&) {
      for (std::size_t i = 0; i < copies.size(); ++i) copies[i].run(b.in<T>(static_cast<int>(i)), b.out<T>());
    });
  });
});

// Splits input 0 into the outputs.
KernelPtr make_split(const KernelContext& c) {
  return make_for<AllTypes>(c, c.input(0).dtype, [&]<class T>() {
    const std::vector<Box> boxes = boxes_along(c, c.input(0).shape, c.outputs);
    std::vector<BoxCopy> copies;
    for (std::size_t i = 0; i < boxes.size(); ++i)
      copies.emplace_back(c.outputs[i].shape, boxes[i], Box(c.outputs[i].shape, zeros(c.outputs[i].shape)));
    return simple_kernel([copies = std::move(copies)](const Buffers& b, const Step&) {
      for (std::size_t i = 0; i < copies.size(); ++i) copies[i].run(b.in<T>(0), b.out<T>(static_cast<int>(i)));
    });
  });
}
const KernelRegistration split_kernel = define_kernel("Split").make(make_split);
const KernelRegistration concat_grad_kernel = define_kernel("ConcatGrad").make(make_split);

}  // namespace
}  // namespace belfry
