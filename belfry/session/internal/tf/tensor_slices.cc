#include "belfry/session/internal/tf/tensor_slices.h"

#include <cstring>

#include "belfry/base/check.h"

namespace belfry {
namespace {

bool have_common_elements(const BundleSlice& a, const BundleSlice& b) {
  for (std::size_t axis = 0; axis < a.size(); ++axis)
    if (a[axis].start >= b[axis].start + b[axis].length || b[axis].start >= a[axis].start + a[axis].length)
      return false;
  return true;
}

BundleSlice resolved_slice(const std::string& where, BundleSlice slice, const std::vector<std::int64_t>& dims) {
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    BundleExtent& extent = slice[axis];
    if (extent.length < 0) extent = {.start = 0, .length = dims[axis]};
    BELFRY_CHECK_AS(
        FileError, extent.start >= 0 && extent.start <= dims[axis] && extent.length <= dims[axis] - extent.start,
        "[tf_checkpoint] {}: expected slices within its {} elements of axis {}, got {} from {} on. The file "
        "is damaged.",
        where, dims[axis], axis, extent.length, extent.start);
  }
  return slice;
}

}  // namespace

// Within the tensor, without common elements and of its size in total: then none is missing either.
std::vector<BundleSlice> resolved_slices(const std::string& where, const BundleEntry& whole) {
  std::vector<BundleSlice> out;
  std::int64_t elements = 0;
  for (const BundleSlice& slice : whole.slices) {
    const BundleSlice& next = out.emplace_back(resolved_slice(where, slice, whole.dims));
    for (std::size_t i = 0; i + 1 < out.size(); ++i)
      BELFRY_CHECK_AS(
          FileError, !have_common_elements(out[i], next),
          "[tf_checkpoint] {}: expected slices without common elements, got {} and {}. The file is damaged.", where,
          to_string(out[i]), to_string(next));
    elements += shape_of(next).elements();
  }
  const std::int64_t expected = Shape(whole.dims).elements();
  BELFRY_CHECK_AS(FileError, elements == expected,
                  "[tf_checkpoint] {}: expected slices of {} elements together, got {}. The file is damaged.", where,
                  expected, elements);
  return out;
}

Shape shape_of(const BundleSlice& slice) {
  Shape out;
  for (const BundleExtent& extent : slice) out.push_back(extent.length);
  return out;
}

void copy_slice(Array& whole, const BundleSlice& slice, const Array& part) {
  if (part.elements() == 0) return;
  // From axis `split` on, what belongs together in the part does so in the whole, too: it is copied as one run.
  const Shape& shape = whole.shape();
  int split = shape.rank();
  std::int64_t run = 1;
  while (split > 0) {
    --split;
    run *= slice[static_cast<std::size_t>(split)].length;
    if (slice[static_cast<std::size_t>(split)].length != shape[split]) break;
  }
  const std::size_t bytes = static_cast<std::size_t>(run) * size_of(whole.dtype());
  const auto* from = static_cast<const std::byte*>(part.raw());
  for (std::int64_t i = 0; i < part.elements() / run; ++i, from += bytes) {
    std::int64_t left = i, place = 0, stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const BundleExtent& extent = slice[static_cast<std::size_t>(axis)];
      const std::int64_t at = axis >= split ? 0 : left % extent.length;
      if (axis < split) left /= extent.length;
      place += (extent.start + at) * stride;
      stride *= shape[axis];
    }
    std::memcpy(static_cast<std::byte*>(whole.raw()) + static_cast<std::size_t>(place) * size_of(whole.dtype()), from,
                bytes);
  }
}

std::string to_string(const BundleSlice& slice) {
  std::string out;
  for (const BundleExtent& extent : slice)
    out += fmt::format("{}{}:{}", out.empty() ? "" : ", ", extent.start, extent.start + extent.length);
  return "[" + out + "]";
}

}  // namespace belfry
