#include "belfry/ops/strided_slice.h"

#include <algorithm>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/runtime_error.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/ops/internal/strided_ranges.h"

namespace belfry {
namespace {

// Places in a dense tensor: the first one, and the step to the next along each axis.
struct Places {
  Strides strides{};
  std::int64_t first = 0;
};

Places places_of(const Shape& whole, const Attributes& attributes) {
  Places out{.strides = dense_strides(whole)};
  for (int i = 0; i < whole.rank(); ++i) {
    const ResolvedRange range = range_of(attributes, i, whole[i]);
    std::int64_t& stride = out.strides[static_cast<std::size_t>(i)];
    out.first += range.first * stride;
    stride *= range.step;
  }
  return out;
}

Places reversed(const Shape& whole, const Ints& axes) {
  Places out{.strides = dense_strides(whole)};
  for (std::int64_t axis : axes) {
    std::int64_t& stride = out.strides[static_cast<std::size_t>(axis)];
    out.first += (whole[static_cast<int>(axis)] - 1) * stride;
    stride = -stride;
  }
  return out;
}

// y = x at these places
template <class T>
KernelPtr make_take(const Shape& out, const Places& places) {
  return simple_kernel(
      [loop = StridedLoop<1>(out, {places.strides}), first = places.first](const Buffers& b, const Step&) {
        take(loop, b.in<T>(0) + (loop.elements() > 0 ? first : 0), b.out<T>());
      });
}

const KernelRegistration strided_slice_kernel = define_kernel("StridedSlice").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    return make_take<T>(c.output().shape, places_of(c.input(0).shape, *c.attributes));
  });
});

// Bounds of the first axes; the others are taken whole.
KernelPtr make_ranges(const KernelContext& c, std::int64_t ResolvedRange::* part) {
  return simple_kernel([x = c.input(0).shape, given = c.input(1).elements(), step = c.attributes->get<Ints>("step"),
                        part](const Buffers& b, const Step&) {
    for (int i = 0; i < x.rank(); ++i) {
      const std::int64_t begin = i < given ? b.in<std::int64_t>(1)[i] : kNoBound,
                         end = i < given ? b.in<std::int64_t>(2)[i] : kNoBound;
      b.out<std::int64_t>()[i] = resolve_range(x[i], begin, end, step[static_cast<std::size_t>(i)]).*part;
    }
  });
}
const KernelRegistration range_begins_kernel =
    define_kernel("RangeBegins").make([](const KernelContext& c) { return make_ranges(c, &ResolvedRange::first); });
const KernelRegistration range_counts_kernel =
    define_kernel("RangeCounts").make([](const KernelContext& c) { return make_ranges(c, &ResolvedRange::count); });

const KernelRegistration reverse_kernel = define_kernel("Reverse").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    return make_take<T>(c.output().shape, reversed(c.output().shape, c.attributes->get<Ints>("axes")));
  });
});

// dx = dy at these places, else 0
const KernelRegistration strided_slice_grad_kernel = define_kernel("StridedSliceGrad").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const Places places = places_of(c.output().shape, *c.attributes);
    return simple_kernel([loop = StridedLoop<1>(c.input(1).shape, {places.strides}), first = places.first,
                          n = c.output().elements()](const Buffers& b, const Step&) {
      const T* dy = b.in<T>(1);
      T* dx = b.out<T>();
      parallel_for(n, kPointwiseGrain,
                   [&](std::int64_t begin, std::int64_t end) { std::fill(dx + begin, dx + end, T(0)); });
      if (loop.elements() > 0) put(loop, dy, dx + first);
    });
  });
});

// Where to read step t of sequence b, for a tensor seen as rows of `inner` elements that share both indices.
struct Sequences {
  std::int64_t rows = 0, inner = 0;
  std::int64_t batch = 0, batch_rows = 0;  // sequences, and rows from one to the next
  std::int64_t steps = 0, step_rows = 0;
};

Sequences sequences_of(const KernelContext& c) {
  const Shape& x = c.input(0).shape;
  const int batch = static_cast<int>(c.attributes->integer("batch_axis")),
            sequence = static_cast<int>(c.attributes->integer("sequence_axis")), last = std::max(batch, sequence);
  return {.rows = x.slice(0, last + 1).elements(),
          .inner = x.slice(last + 1, x.rank()).elements(),
          .batch = x[batch],
          .batch_rows = x.slice(batch + 1, last + 1).elements(),
          .steps = x[sequence],
          .step_rows = x.slice(sequence + 1, last + 1).elements()};
}

template <class Length>
void check_lengths(const Sequences& s, const Length* lengths, const Node* origin) {
  for (std::int64_t i = 0; i < s.batch; ++i)
    if (lengths[i] < 0 || lengths[i] > s.steps)
      fail_numeric(origin, fmt::format("expected lengths in [0, {}], got {} for sequence {}", s.steps, lengths[i], i));
}

template <class T, class Length>
void reverse_sequences(const Sequences& s, const T* x, const Length* lengths, T* y) {
  parallel_for(s.rows, std::max<std::int64_t>(kPointwiseGrain / std::max<std::int64_t>(s.inner, 1), 1),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   const auto length = static_cast<std::int64_t>(lengths[row / s.batch_rows % s.batch]);
                   const std::int64_t step = row / s.step_rows % s.steps;
                   const std::int64_t from = step < length ? row + (length - 1 - 2 * step) * s.step_rows : row;
                   std::copy_n(x + from * s.inner, s.inner, y + row * s.inner);
                 }
               });
}

const KernelRegistration reverse_sequence_kernel = define_kernel("ReverseSequence").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const auto kernel = [&]<class Length>(Length) {
      return simple_kernel([s = sequences_of(c), origin = c.origin](const Buffers& b, const Step&) {
        check_lengths(s, b.in<Length>(1), origin);
        reverse_sequences(s, b.in<T>(0), b.in<Length>(1), b.out<T>());
      });
    };
    return c.input(1).dtype == i64 ? kernel(std::int64_t()) : kernel(std::int32_t());
  });
});

}  // namespace
}  // namespace belfry
