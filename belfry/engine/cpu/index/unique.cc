#include <algorithm>
#include <cmath>
#include <numeric>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"

namespace belfry {
namespace {

// All NaN are one value here, so that sorting has an order.
template <class T>
bool same(T a, T b) {
  return a == b || (a != a && b != b);
}

// `order` and `first` are scratch of n each. Equal elements are found by sorting; `first` is where the value of each
// element occurs first, and numbering those gives the order of appearance.
template <class T>
std::int64_t unique(const T* x, std::int64_t n, T* values, std::int64_t* index, std::int64_t* counts,
                    std::int64_t* order, std::int64_t* first) {
  std::iota(order, order + n, std::int64_t{0});
  std::sort(order, order + n, [x](std::int64_t i, std::int64_t k) {
    if (same(x[i], x[k])) return i < k;
    return x[i] < x[k] || (x[k] != x[k] && x[i] == x[i]);
  });
  for (std::int64_t i = 0; i < n; ++i)
    first[order[i]] = i > 0 && same(x[order[i - 1]], x[order[i]]) ? first[order[i - 1]] : order[i];
  std::fill_n(values, n, T(0));
  std::fill_n(counts, n, std::int64_t{0});
  std::int64_t size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (first[i] == i) {
      values[size] = x[i];
      index[i] = size++;
    } else {
      index[i] = index[first[i]];
    }
    ++counts[index[i]];
  }
  return size;
}

const KernelRegistration unique_kernel = define_kernel("UniqueWithCounts").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.input(0).dtype, [&]<class T>() {
    const std::int64_t n = c.input(0).elements();
    return simple_kernel(
        [n](const Buffers& b, const Step&) {
          auto* scratch = static_cast<std::int64_t*>(b.scratch);
          *b.out<std::int64_t>(3) =
              unique(b.in<T>(0), n, b.out<T>(0), b.out<std::int64_t>(1), b.out<std::int64_t>(2), scratch, scratch + n);
        },
        static_cast<std::size_t>(2 * n) * sizeof(std::int64_t));
  });
});

}  // namespace
}  // namespace belfry
