// Softmax and its cross-entropy over plain rows. f32 uses the vectorised kernels, with loss and gradient in one pass if
// the fuse pass joined them ("FusedCrossEntropy"); f64 uses the plain loops here.
#include <algorithm>
#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/runtime_error.h"
#include "belfry/engine/cpu/softmax/softmax_team.h"

namespace belfry {
namespace {

constexpr std::int64_t kGrain = 1 << 12;  // minimum number of elements per thread

struct Rows {
  std::int64_t rows = 0, classes = 0;
};

Rows rows_of(const Shape& logits) { return {logits.slice(0, logits.rank() - 1).elements(), logits[-1]}; }

template <class Body>
void for_each_row(const Rows& r, Body body) {
  if (r.classes == 0) return;
  parallel_for(r.rows, std::max<std::int64_t>(kGrain / r.classes, 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row, row * r.classes);
  });
}

template <class T>
struct Normaliser {
  T largest, sum;  // of exp(x - largest)
};

template <class T>
Normaliser<T> normaliser(const T* x, std::int64_t classes) {
  const T largest = *std::max_element(x, x + classes);
  T sum = 0;
  for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(x[i] - largest);
  return {largest, sum};
}

// logits [rows, classes] -> y [rows, classes]
template <class T>
void softmax(const Rows& r, const T* logits, T* y) {
  for_each_row(r, [&](std::int64_t, std::int64_t at) {
    const auto [largest, sum] = normaliser(logits + at, r.classes);
    for (std::int64_t i = 0; i < r.classes; ++i) y[at + i] = std::exp(logits[at + i] - largest) / sum;
  });
}

template <class T>
void log_softmax(const Rows& r, const T* logits, T* y) {
  for_each_row(r, [&](std::int64_t, std::int64_t at) {
    const auto [largest, sum] = normaliser(logits + at, r.classes);
    const T log_sum = std::log(sum);
    for (std::int64_t i = 0; i < r.classes; ++i) y[at + i] = logits[at + i] - largest - log_sum;
  });
}

// labels [rows] -> loss [rows]
template <class T, class Label>
void cross_entropy(const Rows& r, const T* logits, const Label* labels, T* loss) {
  for_each_row(r, [&](std::int64_t row, std::int64_t at) {
    const auto [largest, sum] = normaliser(logits + at, r.classes);
    loss[row] = std::log(sum) + largest - logits[at + static_cast<std::int64_t>(labels[row])];
  });
}

template <class T, class Label>
void cross_entropy_grad(const Rows& r, const T* logits, const Label* labels, const T* dloss, T* dlogits) {
  for_each_row(r, [&](std::int64_t row, std::int64_t at) {
    const auto [largest, sum] = normaliser(logits + at, r.classes);
    for (std::int64_t i = 0; i < r.classes; ++i) {
      const T probability = std::exp(logits[at + i] - largest) / sum;
      dlogits[at + i] = (probability - (i == static_cast<std::int64_t>(labels[row]) ? T(1) : T(0))) * dloss[row];
    }
  });
}

template <class Label>
void check_labels(const Rows& r, const Label* labels, const Node* origin) {
  const Label* bad =
      std::find_if(labels, labels + r.rows, [&](Label label) { return label < 0 || label >= r.classes; });
  if (bad == labels + r.rows) return;
  fail_numeric(
      origin,
      fmt::format("expected labels in [0, {}), got {} in row {} of {}. Check the data and the number of classes.",
                  r.classes, *bad, bad - labels, r.rows));
}

// Runs body.operator()<T, Label>(rows, buffers) after checking the labels, which are input 1.
template <class Body>
KernelPtr labelled_kernel(const KernelContext& c, Body body) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    const auto kernel = [&]<class Label>(Label) {
      return simple_kernel([r = rows_of(c.input(0).shape), origin = c.origin, body](const Buffers& b, const Step&) {
        check_labels(r, b.in<Label>(1), origin);
        body.template operator()<T, Label>(r, b);
      });
    };
    return c.input(1).dtype == i64 ? kernel(std::int64_t()) : kernel(std::int32_t());
  });
}

// The f32 kernel: inputs logits, labels and, for a gradient, the factor of each row; outputs loss and gradient as
// asked.
struct FastCrossEntropy {
  int loss = -1, gradient = -1;  // which output each is, or none
};

KernelPtr make_fast(const KernelContext& c, FastCrossEntropy outputs) {
  const Rows r = rows_of(c.input(0).shape);
  return simple_kernel([r, outputs, wide = c.input(1).dtype == i64, factor = c.inputs.size() > 2, origin = c.origin](
                           const Buffers& b, const Step&) {
    const std::int64_t bad =
        sparse_cross_entropy({.logits = b.in<float>(0),
                              .labels = b.in<void>(1),
                              .wide_labels = wide,
                              .rows = r.rows,
                              .classes = r.classes,
                              .loss = outputs.loss >= 0 ? b.out<float>(outputs.loss) : nullptr,
                              .gradient = outputs.gradient >= 0 ? b.out<float>(outputs.gradient) : nullptr,
                              .factor = factor ? b.in<float>(2) : nullptr,
                              .factor_stride = 1});
    if (bad < 0) return;
    if (wide)
      check_labels(r, b.in<std::int64_t>(1), origin);
    else
      check_labels(r, b.in<std::int32_t>(1), origin);
  });
}

KernelPtr make_fast_softmax(const KernelContext& c, void (*run)(const SoftmaxArgs&, Isa)) {
  return simple_kernel([r = rows_of(c.input(0).shape), run](const Buffers& b, const Step&) {
    run({.input = b.in<float>(0), .output = b.out<float>(), .rows = r.rows, .classes = r.classes}, cpu_isa());
  });
}

bool fast(const KernelContext& c) { return c.input(0).dtype == f32 && c.input(0).shape[-1] > 0; }

const KernelRegistration softmax_kernel = define_kernel("Softmax").in_place(0).make([](const KernelContext& c) {
  if (fast(c)) return make_fast_softmax(c, softmax_forward);
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel(
        [r = rows_of(c.input(0).shape)](const Buffers& b, const Step&) { softmax(r, b.in<T>(0), b.out<T>()); });
  });
});

const KernelRegistration log_softmax_kernel = define_kernel("LogSoftmax").in_place(0).make([](const KernelContext& c) {
  if (fast(c)) return make_fast_softmax(c, log_softmax_forward);
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel(
        [r = rows_of(c.input(0).shape)](const Buffers& b, const Step&) { log_softmax(r, b.in<T>(0), b.out<T>()); });
  });
});

const KernelRegistration cross_entropy_kernel =
    define_kernel("SparseSoftmaxCrossEntropy").make([](const KernelContext& c) {
      if (fast(c)) return make_fast(c, {.loss = 0});
      return labelled_kernel(c, []<class T, class Label>(const Rows& r, const Buffers& b) {
        cross_entropy(r, b.in<T>(0), b.in<Label>(1), b.out<T>());
      });
    });

const KernelRegistration cross_entropy_grad_kernel =
    define_kernel("SparseSoftmaxCrossEntropyGrad").in_place(0).make([](const KernelContext& c) {
      if (fast(c)) return make_fast(c, {.gradient = 0});
      return labelled_kernel(c, []<class T, class Label>(const Rows& r, const Buffers& b) {
        cross_entropy_grad(r, b.in<T>(0), b.in<Label>(1), b.in<T>(2), b.out<T>());
      });
    });

const KernelRegistration fused_cross_entropy_kernel =
    define_kernel("FusedCrossEntropy").in_place(0, 1).make([](const KernelContext& c) {
      return make_fast(c, {.loss = 0, .gradient = 1});
    });

}  // namespace
}  // namespace belfry
