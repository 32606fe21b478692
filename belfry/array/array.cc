#include "belfry/array/array.h"

#include <algorithm>
#include <cstring>

#include "belfry/array/internal/convert.h"
#include "belfry/array/internal/dispatch.h"
#include "belfry/base/check.h"
#include "belfry/base/internal/aligned_memory.h"

namespace belfry {
namespace {

// Throws unless the shape is concrete and the array's size a number that can be computed with.
void check_size(DType dtype, const Shape& shape) {
  BELFRY_CHECK(shape.is_concrete(), "[Array] expected a shape without unknown dimensions, got {}", to_string(shape));
  BELFRY_CHECK(checked_bytes(dtype, shape).has_value(), "[Array] expected a shape whose size fits 63 bits, got {} {}.",
               name_of(dtype), to_string(shape));
}

template <class T>
Array scalar(T value) {
  Array out(dtype_of<T>, {});
  out.values<T>()[0] = value;
  return out;
}

void check_index(std::int64_t index, std::int64_t elements) {
  BELFRY_CHECK(elements > 0,
               "[Array] expected an element {}, got an empty array. An operation has no value: fetch a tensor.", index);
  BELFRY_CHECK(index >= 0 && index < elements, "[Array] expected an index below {}, got {}", elements, index);
}

}  // namespace

std::optional<std::uint64_t> checked_bytes(DType dtype, const Shape& shape) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  bool empty = false;
  for (const std::int64_t dim : shape) {
    empty = empty || dim == 0;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(dim, 1), &bytes)) return std::nullopt;
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

Array::Array(DType dtype, const Shape& shape) : dtype_(dtype), shape_(shape) {
  check_size(dtype, shape);
  elements_ = shape.elements();
  data_ = allocate_buffer(bytes());
}

Array::Array(DType dtype, const Shape& shape, void* data, std::shared_ptr<void> owner)
    : dtype_(dtype), shape_(shape), data_(std::move(owner), data) {
  check_size(dtype, shape);
  elements_ = shape.elements();
}

Array::Array(float value) : Array(scalar(value)) {}
Array::Array(double value) : Array(scalar(value)) {}
Array::Array(std::int32_t value) : Array(scalar(value)) {}
Array::Array(std::int64_t value) : Array(scalar(value)) {}
Array::Array(bool value) : Array(scalar(value)) {}

Array Array::zeros(DType dtype, const Shape& shape) {
  Array out(dtype, shape);
  if (out.bytes() > 0) std::memset(out.raw(), 0, out.bytes());
  return out;
}

Array Array::full(DType dtype, const Shape& shape, double value) {
  Array out(dtype, shape);
  dispatch(dtype, [&]<class T>() { std::ranges::fill(out.values<T>(), convert<T>(value)); });
  return out;
}

Array Array::from_bytes(DType dtype, const Shape& shape, const void* data, std::size_t count) {
  Array out(dtype, shape);
  BELFRY_CHECK(static_cast<std::size_t>(out.elements()) == count, "[Array] expected {} values for shape {}, got {}",
               out.elements(), to_string(shape), count);
  if (count > 0) std::memcpy(out.raw(), data, out.bytes());
  return out;
}

std::size_t Array::bytes() const { return static_cast<std::size_t>(elements_) * size_of(dtype_); }

void Array::check_type(DType asked) const {
  BELFRY_CHECK(asked == dtype_,
               "[Array] expected elements of type {}, got an array of {}. Ask for values<{}>() or cast() it.",
               name_of(asked), name_of(dtype_), name_of(dtype_));
}

double Array::item(std::int64_t index) const {
  check_index(index, elements_);
  double out = 0;
  dispatch(dtype_, [&]<class T>() { out = static_cast<double>(values<T>()[static_cast<std::size_t>(index)]); });
  return out;
}

void Array::set_item(std::int64_t index, double value) {
  check_index(index, elements_);
  dispatch(dtype_, [&]<class T>() { values<T>()[static_cast<std::size_t>(index)] = convert<T>(value); });
}

Array Array::clone() const {
  Array out(dtype_, shape_);
  if (bytes() > 0) std::memcpy(out.raw(), raw(), bytes());
  return out;
}

Array Array::reshaped(const Shape& shape) const {
  BELFRY_CHECK(shape.elements() == elements_, "[Array] expected a shape of {} elements, got {}", elements_,
               to_string(shape));
  check_size(dtype_, shape);  // a dimension of 0 can hide sizes that no arithmetic is safe with
  Array out = *this;
  out.shape_ = shape;
  return out;
}

Array Array::cast(DType dtype) const {
  Array out(dtype, shape_);
  dispatch(dtype_, [&]<class From>() {
    dispatch(dtype, [&]<class To>() {
      std::ranges::transform(values<From>(), out.values<To>().begin(), [](From v) { return convert<To>(v); });
    });
  });
  return out;
}

bool equal(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

std::string to_string(const Array& array) {
  std::string text = fmt::format("{} {} {{", name_of(array.dtype()), to_string(array.shape()));
  const std::int64_t shown = std::min<std::int64_t>(array.elements(), 8);
  for (std::int64_t i = 0; i < shown; ++i) text += fmt::format("{}{:.6g}", i > 0 ? ", " : "", array.item(i));
  return text + (shown < array.elements() ? ", ...}" : "}");
}

}  // namespace belfry
