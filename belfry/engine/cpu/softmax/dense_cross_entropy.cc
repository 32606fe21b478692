// Softmax cross-entropy against distributions: f32 on the vector kernels, with loss and gradient in one pass if the
// fuse pass joined them ("FusedDenseCrossEntropy"); f64 uses the plain loops here.
#include <algorithm>
#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/softmax/softmax_team.h"

namespace belfry {
namespace {

struct LogitRows {
  explicit LogitRows(const Shape& logits) : rows(logits.slice(0, logits.rank() - 1).elements()), classes(logits[-1]) {}
  std::int64_t rows, classes;
};

// logits and labels [rows, classes], factor [rows]; loss [rows] or null, gradient [rows, classes] or null
template <class T>
void run(const LogitRows& r, const T* logits, const T* labels, const T* factor, T* loss, T* gradient) {
  if constexpr (std::is_same_v<T, float>) {
    dense_cross_entropy({.logits = logits,
                         .labels = labels,
                         .rows = r.rows,
                         .classes = r.classes,
                         .loss = loss,
                         .gradient = gradient,
                         .factor = factor});
    return;
  }
  parallel_for(r.rows, std::max<std::int64_t>(2048 / r.classes, 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T *x = logits + row * r.classes, *l = labels + row * r.classes;
      const T most = *std::max_element(x, x + r.classes);
      T total = 0, weight = 0, sum = 0;
      for (std::int64_t i = 0; i < r.classes; ++i) total += std::exp(x[i] - most);
      for (std::int64_t i = 0; i < r.classes; ++i) {
        weight += l[i];
        if (l[i] != 0) sum += l[i] * (std::log(total) + most - x[i]);
      }
      if (loss != nullptr) loss[row] = sum;
      for (std::int64_t i = 0; gradient != nullptr && i < r.classes; ++i)
        gradient[row * r.classes + i] = (std::exp(x[i] - most) / total * weight - l[i]) * factor[row];
    }
  });
}

const KernelRegistration dense_cross_entropy_kernel =
    define_kernel("SoftmaxCrossEntropy").make([](const KernelContext& c) {
      return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
        return simple_kernel([r = LogitRows(c.input(0).shape)](const Buffers& b, const Step&) {
          run<T>(r, b.in<T>(0), b.in<T>(1), nullptr, b.out<T>(), nullptr);
        });
      });
    });

const KernelRegistration dense_cross_entropy_grad_kernel =
    define_kernel("SoftmaxCrossEntropyGrad").in_place(1).make([](const KernelContext& c) {
      return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
        return simple_kernel([r = LogitRows(c.input(0).shape)](const Buffers& b, const Step&) {
          run<T>(r, b.in<T>(0), b.in<T>(1), b.in<T>(2), nullptr, b.out<T>());
        });
      });
    });

const KernelRegistration fused_kernel =
    define_kernel("FusedDenseCrossEntropy").in_place(1, 1).make([](const KernelContext& c) {
      return simple_kernel([r = LogitRows(c.input(0).shape)](const Buffers& b, const Step&) {
        run<float>(r, b.in<float>(0), b.in<float>(1), b.in<float>(2), b.out<float>(0), b.out<float>(1));
      });
    });

}  // namespace
}  // namespace belfry
