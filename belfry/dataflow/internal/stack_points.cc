#include "belfry/dataflow/internal/stack_points.h"

#include <algorithm>
#include <cstring>

#include "belfry/base/check.h"

namespace belfry {
namespace {

using Dims = std::span<const std::int64_t>;

// Shapes are not checked here: ragged components may differ.
void check_row(const DataPoint& first, const DataPoint& point, std::size_t row, std::string_view where) {
  check_count(where, first.size(), point.size(), row);
  for (std::size_t k = 0; k < first.size(); ++k) check_dtype(where, k, first[k].dtype(), point[k].dtype(), row);
}

// An array for this many rows of this shape, not yet filled.
Array make_stacked(std::int64_t rows, DType dtype, const Shape& row) {
  Shape shape{rows};
  for (const std::int64_t d : row) shape.push_back(d);
  return Array(dtype, shape);
}

// One component of all points of a batch.
class Column {
 public:
  Column(const std::vector<DataPoint>& points, std::size_t component, std::string_view where)
      : points_(points), component_(component), where_(where) {}

  Array stacked() const {
    for (std::size_t row = 1; row < points_.size(); ++row) check_shape(where_, component_, shape(0), shape(row), row);
    Array out = make_stacked(rows(), dtype(), shape(0));
    copy_all_to(out);
    return out;
  }

  Array concatenated() const {
    check_agree_behind(1, "Ragged::concat");
    Shape shape = this->shape(0);
    for (std::size_t row = 1; row < points_.size(); ++row) shape.set(0, shape[0] + this->shape(row)[0]);
    Array out(dtype(), shape);
    copy_all_to(out);
    return out;
  }

  Array padded(double value) const {
    Shape largest = shape(0);
    for (std::size_t row = 1; row < points_.size(); ++row)
      for (int axis = 0; axis < largest.rank(); ++axis) largest.set(axis, std::max(largest[axis], shape(row)[axis]));
    Array out = make_stacked(rows(), dtype(), largest);
    const auto row_bytes = out.bytes() / points_.size();
    fill(out, value);
    auto* to = static_cast<std::byte*>(out.raw());
    for (const DataPoint& point : points_) {
      const Array& array = point[component_];
      if (array.elements() > 0)
        copy_block(static_cast<const std::byte*>(array.raw()), array.shape().dims(), to, largest.dims(),
                   size_of(dtype()));
      to += row_bytes;
    }
    return out;
  }

  // [n] sizes of the first axis, or [n, rank] of all.
  Array lengths(bool all_axes) const {
    const int axes = all_axes ? rank() : 1;
    Array out(i64, all_axes ? Shape{rows(), axes} : Shape{rows()});
    auto to = out.values<std::int64_t>().begin();
    for (std::size_t row = 0; row < points_.size(); ++row)
      to = std::copy_n(shape(row).begin(), static_cast<std::size_t>(axes), to);
    return out;
  }

  // Throws unless all have an axis to be ragged along, and the same number of them.
  void check_can_be_ragged() const {
    BELFRY_CHECK(rank() > 0, "[{}] expected a ragged component {} with at least one axis, got a scalar.", where_,
                 component_);
    for (std::size_t row = 1; row < points_.size(); ++row)
      BELFRY_CHECK(shape(row).rank() == rank(),
                   "[{}] expected equal ranks for the ragged component {}, got {} in row 0 and {} in row {}.", where_,
                   component_, to_string(shape(0)), to_string(shape(row)), row);
  }

  // Throws unless all shapes agree from axis `first` on.
  void check_agree_behind(int first, std::string_view kind) const {
    for (std::size_t row = 1; row < points_.size(); ++row)
      BELFRY_CHECK(shape(row).slice(first, rank()) == shape(0).slice(first, rank()),
                   "[{}] expected shapes that differ only in the first axis for component {} under {}, got {} in row 0 "
                   "and {} in row {}. Ragged::pad_all takes any.",
                   where_, component_, kind, to_string(shape(0)), to_string(shape(row)), row);
  }

  int rank() const { return shape(0).rank(); }

 private:
  std::int64_t rows() const { return static_cast<std::int64_t>(points_.size()); }
  const Shape& shape(std::size_t row) const { return points_[row][component_].shape(); }
  DType dtype() const { return points_[0][component_].dtype(); }

  void copy_all_to(Array& out) const {
    auto* to = static_cast<std::byte*>(out.raw());
    for (const DataPoint& point : points_) {
      const std::size_t bytes = point[component_].bytes();
      if (bytes > 0) std::memcpy(to, point[component_].raw(), bytes);
      to += bytes;
    }
  }

  static void fill(Array& out, double value) {
    if (out.bytes() == 0) return;
    const Array one = Array::full(out.dtype(), {}, value);
    const std::size_t item = one.bytes();
    auto* to = static_cast<std::byte*>(out.raw());
    for (std::size_t done = 0; done < out.bytes(); done += item) std::memcpy(to + done, one.raw(), item);
  }

  // A block of dimensions `from_dims` to the corner of one that is as large or larger. `item`: bytes of an element.
  static void copy_block(const std::byte* from, Dims from_dims, std::byte* to, Dims to_dims, std::size_t item) {
    const auto bytes_of = [&](Dims dims) {
      std::size_t bytes = item;
      for (const std::int64_t d : dims) bytes *= static_cast<std::size_t>(d);
      return bytes;
    };
    if (std::ranges::equal(from_dims.subspan(1), to_dims.subspan(1))) {
      std::memcpy(to, from, bytes_of(from_dims));
      return;
    }
    const std::size_t from_stride = bytes_of(from_dims.subspan(1)), to_stride = bytes_of(to_dims.subspan(1));
    for (std::int64_t i = 0; i < from_dims[0]; ++i, from += from_stride, to += to_stride)
      copy_block(from, from_dims.subspan(1), to, to_dims.subspan(1), item);
  }

  const std::vector<DataPoint>& points_;
  const std::size_t component_;
  const std::string_view where_;
};

Array ragged(const Column& column, const BatchOptions& options) {
  column.check_can_be_ragged();
  if (options.ragged == Ragged::concat) return column.concatenated();
  if (options.ragged == Ragged::pad) column.check_agree_behind(1, "Ragged::pad");
  return column.padded(options.pad_value);
}

bool is_ragged(std::size_t component, const Column& column, const BatchOptions& options) {
  if (options.ragged == Ragged::refuse) return false;
  const std::vector<std::size_t>& named = options.ragged_components;
  return named.empty() ? column.rank() > 0 : std::ranges::find(named, component) != named.end();
}

}  // namespace

void check_count(std::string_view where, std::size_t first, std::size_t got, std::size_t row) {
  BELFRY_CHECK(got == first, "[{}] expected {} components in every point of the batch, got {} in row {}.", where, first,
               got, row);
}

void check_dtype(std::string_view where, std::size_t component, DType first, DType got, std::size_t row) {
  BELFRY_CHECK(got == first,
               "[{}] expected one dtype for component {}, got {} in row 0 and {} in row {}. cast() it in a map().",
               where, component, name_of(first), name_of(got), row);
}

void check_shape(std::string_view where, std::size_t component, const Shape& first, const Shape& got, std::size_t row) {
  BELFRY_CHECK(got == first,
               "[{}] expected equal shapes for component {}, got {} in row 0 and {} in row {}. Resize or pad it in a "
               "map(), make the batch .ragged, or use batch(1).",
               where, component, to_string(first), to_string(got), row);
}

DataPoint stack_points(const std::vector<DataPoint>& points, const BatchOptions& options, std::string_view where) {
  const DataPoint& first = points[0];
  for (std::size_t row = 1; row < points.size(); ++row) check_row(first, points[row], row, where);
  for (const std::size_t k : options.ragged_components)
    BELFRY_CHECK(k < first.size(), "[{}] expected ragged components below {}, their number, got {}.", where,
                 first.size(), k);
  DataPoint out, lengths;
  for (std::size_t k = 0; k < first.size(); ++k) {
    const Column column(points, k, where);
    if (is_ragged(k, column, options)) {
      out.push_back(ragged(column, options));
      lengths.push_back(column.lengths(options.ragged == Ragged::pad_all));
    } else {
      out.push_back(column.stacked());
    }
  }
  std::ranges::move(lengths, std::back_inserter(out));
  return out;
}

void ComponentCheck::check(const DataPoint& point) {
  BELFRY_CHECK(!point.empty(), "[{}] expected points with at least one component, got none.", where_);
  if (dtypes_.empty()) {
    for (const Array& component : point) dtypes_.push_back(component.dtype());
    return;
  }
  BELFRY_CHECK(
      point.size() == dtypes_.size(),
      "[{}] expected {} components as in the {} before, got {}. All points of a flow must have the same components.",
      where_, dtypes_.size(), noun_, point.size());
  for (std::size_t k = 0; k < point.size(); ++k)
    BELFRY_CHECK(point[k].dtype() == dtypes_[k],
                 "[{}] expected {} for component {} as in the {} before, got {}. cast() it in a map().", where_,
                 name_of(dtypes_[k]), k, noun_, name_of(point[k].dtype()));
}

}  // namespace belfry
