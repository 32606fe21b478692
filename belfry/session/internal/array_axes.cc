#include "belfry/session/internal/array_axes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "belfry/array/internal/dispatch.h"

namespace belfry {
namespace {

// An array as [outer, size of the axis, inner] bytes.
struct Rows {
  std::size_t outer = 1, bytes = 1;  // bytes of one entry along the axis
  Rows(const Array& a, int axis) : bytes(size_of(a.dtype())) {
    for (int k = 0; k < axis; ++k) outer *= static_cast<std::size_t>(a.shape()[k]);
    for (int k = axis + 1; k < a.shape().rank(); ++k) bytes *= static_cast<std::size_t>(a.shape()[k]);
  }
};

const std::byte* content(const Array& a) { return static_cast<const std::byte*>(a.raw()); }
std::byte* content(Array& a) { return static_cast<std::byte*>(a.raw()); }

// Entries [from_first, from_first + count) along the axis of `from`, to to_first of `to`.
void copy_along(const Array& from, std::int64_t from_first, Array& to, std::int64_t to_first, std::int64_t count,
                int axis) {
  const Rows rows(from, axis);
  const std::size_t bytes = static_cast<std::size_t>(count) * rows.bytes;
  if (bytes == 0) return;
  const std::size_t from_row = static_cast<std::size_t>(from.shape()[axis]) * rows.bytes,
                    to_row = static_cast<std::size_t>(to.shape()[axis]) * rows.bytes;
  for (std::size_t i = 0; i < rows.outer; ++i)
    std::memcpy(content(to) + i * to_row + static_cast<std::size_t>(to_first) * rows.bytes,
                content(from) + i * from_row + static_cast<std::size_t>(from_first) * rows.bytes, bytes);
}

}  // namespace

Array transposed(const Array& in, std::span<const std::int64_t> axes) {
  const int rank = in.shape().rank();
  std::array<std::int64_t, kMaxRank> stride{}, step{}, index{};
  for (std::int64_t axis = rank - 1, elements = 1; axis >= 0; --axis) {
    stride[static_cast<std::size_t>(axis)] = elements;
    elements *= in.shape()[static_cast<int>(axis)];
  }
  Shape shape;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    shape.push_back(in.shape()[static_cast<int>(axes[k])]);
    step[k] = stride[static_cast<std::size_t>(axes[k])];
  }
  Array out(in.dtype(), shape);
  dispatch(in.dtype(), [&]<class T>() {
    const std::span<const T> from = in.values<T>();
    std::int64_t at = 0;
    for (T& value : out.values<T>()) {
      value = from[static_cast<std::size_t>(at)];
      // To the next element of the result: the last index runs fastest and carries into the one before.
      for (int k = rank - 1; k >= 0; --k) {
        const auto a = static_cast<std::size_t>(k);
        at += step[a];
        if (++index[a] < shape[k]) break;
        at -= step[a] * shape[k];
        index[a] = 0;
      }
    }
  });
  return out;
}

std::vector<Array> divided(const Array& in, int axis, std::span<const std::int64_t> sizes) {
  std::vector<Array> out;
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    Shape shape = in.shape();
    shape.set(axis, size);
    copy_along(in, first, out.emplace_back(in.dtype(), shape), 0, size, axis);
    first += size;
  }
  return out;
}

Array joined(const std::vector<Array>& parts, int axis) {
  Shape shape = parts.front().shape();
  std::int64_t size = 0;
  for (const Array& part : parts) size += part.shape()[axis];
  shape.set(axis, size);
  Array out(parts.front().dtype(), shape);
  std::int64_t first = 0;
  for (const Array& part : parts) {
    copy_along(part, 0, out, first, part.shape()[axis], axis);
    first += part.shape()[axis];
  }
  return out;
}

Array with_blocks_in_order(const Array& in, std::span<const std::int64_t> order) {
  Array out(in.dtype(), in.shape());
  const int last = in.shape().rank() - 1;
  const std::int64_t block = in.shape()[last] / static_cast<std::int64_t>(order.size());
  std::int64_t to = 0;
  for (const std::int64_t from : order) copy_along(in, from * block, out, block * to++, block, last);
  return out;
}

}  // namespace belfry
