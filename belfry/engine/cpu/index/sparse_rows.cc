// Sparse gradients of tables. Rows are summed one after the other in the order of the indices: the bits do not depend
// on the number of threads.
#include <algorithm>

#include "belfry/engine/cpu/kernel/indices.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"

namespace belfry {
namespace {

// An index and its place.
struct Entry {
  std::int64_t id, at;
  auto operator<=>(const Entry&) const = default;
};

std::int64_t row_grain(std::int64_t width) {
  return std::max<std::int64_t>(kPointwiseGrain / std::max<std::int64_t>(width, 1), 1);
}

// indices [count], dy [count, width] -> ids [capacity], rows [capacity, width], positions [count]
struct RowSum {
  std::int64_t count = 0, width = 0, capacity = 0;

  // Entries, and where the entries of each id begin.
  std::size_t entry_bytes() const { return cache_lines(static_cast<std::size_t>(count) * sizeof(Entry)); }
  std::size_t scratch_bytes() const {
    return entry_bytes() + static_cast<std::size_t>(capacity + 1) * sizeof(std::int64_t);
  }

  template <class T, class Index>
  void run(const Index* indices, const T* dy, const Buffers& b) const {
    auto* entries = static_cast<Entry*>(b.scratch);
    auto* begins = reinterpret_cast<std::int64_t*>(static_cast<std::byte*>(b.scratch) + entry_bytes());
    const std::int64_t used = number(indices, entries, begins, b.out<Index>(0), b.out<Index>(2));
    T* rows = b.out<T>(1);
    parallel_for(capacity, row_grain(width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        T* to = rows + row * width;
        if (row >= used) {
          std::fill_n(to, width, T{});
          continue;
        }
        std::copy_n(dy + entries[begins[row]].at * width, width, to);
        for (std::int64_t e = begins[row] + 1; e < begins[row + 1]; ++e) {
          const T* from = dy + entries[e].at * width;
          for (std::int64_t i = 0; i < width; ++i) to[i] += from[i];
        }
      }
    });
  }

  // Sorts the entries and numbers the ids; returns how many there are.
  template <class Index>
  std::int64_t number(const Index* indices, Entry* entries, std::int64_t* begins, Index* ids, Index* positions) const {
    std::int64_t filled = 0, used = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      positions[i] = -1;
      if (indices[i] >= 0) entries[filled++] = {static_cast<std::int64_t>(indices[i]), i};
    }
    std::sort(entries, entries + filled);
    for (std::int64_t e = 0; e < filled; ++e) {
      if (e == 0 || entries[e].id != entries[e - 1].id) {
        ids[used] = static_cast<Index>(entries[e].id);
        begins[used++] = e;
      }
      positions[entries[e].at] = static_cast<Index>(used - 1);
    }
    begins[used] = filled;
    std::fill(ids + used, ids + capacity, Index{-1});
    return used;
  }
};

const KernelRegistration sum_rows_kernel = define_kernel("SumRows").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.output(1).dtype, [&]<class T>() {
    return make_for_index(c.input(0).dtype, [&]<class Index>() {
      const Shape &indices = c.input(0).shape, &table = c.input(2).shape;
      const RowSum sum{.count = indices.elements(),
                       .width = table.slice(1, table.rank()).elements(),
                       .capacity = c.output(0).elements()};
      const IndexRange range{.shape = indices, .first = -1, .end = table[0], .origin = c.origin};
      return simple_kernel(
          [sum, range](const Buffers& b, const Step&) {
            range.check(b.in<Index>(0));
            sum.run(b.in<Index>(0), b.in<T>(1), b);
          },
          sum.scratch_bytes());
    });
  });
});

// ids [count], rows [count, width] -> dense [size, width]
template <class T, class Index>
void scatter_rows(const Index* ids, std::int64_t count, const T* rows, std::int64_t width, std::int64_t size,
                  T* dense) {
  parallel_for(size, row_grain(width), [&](std::int64_t begin, std::int64_t end) {
    std::fill(dense + begin * width, dense + end * width, T{});
    for (std::int64_t k = 0; k < count; ++k) {
      const auto id = static_cast<std::int64_t>(ids[k]);
      if (id < begin || id >= end) continue;
      for (std::int64_t i = 0; i < width; ++i) dense[id * width + i] += rows[k * width + i];
    }
  });
}

const KernelRegistration scatter_rows_kernel = define_kernel("ScatterRows").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return make_for_index(c.input(0).dtype, [&]<class Index>() {
      const Shape &ids = c.input(0).shape, &table = c.input(2).shape;
      const std::int64_t width = table.slice(1, table.rank()).elements();
      const IndexRange range{.shape = ids, .first = -1, .end = table[0], .origin = c.origin};
      return simple_kernel([range, width](const Buffers& b, const Step&) {
        range.check(b.in<Index>(0));
        scatter_rows(b.in<Index>(0), range.shape[0], b.in<T>(1), width, range.end, b.out<T>());
      });
    });
  });
});

}  // namespace
}  // namespace belfry
