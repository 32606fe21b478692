// Array: a typed, dense, row-major host buffer. What a datapoint, a feed and a fetched value are made of.
//
// Copying an Array shares the buffer (cheap); clone() copies the elements. The buffer is aligned to 64 bytes unless
// it was adopted from outside.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "belfry/array/dtype.h"
#include "belfry/array/shape.h"

#pragma GCC visibility push(default)
namespace belfry {

class Array {
 public:
  Array() = default;                       // empty: dtype f32, shape [0]
  Array(DType dtype, const Shape& shape);  // uninitialised elements; the shape must be concrete
  // Shares memory that somebody else owns; `owner` keeps it alive.
  Array(DType dtype, const Shape& shape, void* data, std::shared_ptr<void> owner);

  // Scalars, so that literals can be fed and returned.
  Array(float value);           // NOLINT(google-explicit-constructor)
  Array(double value);          // NOLINT(google-explicit-constructor)
  Array(std::int32_t value);    // NOLINT(google-explicit-constructor)
  Array(std::int64_t value);    // NOLINT(google-explicit-constructor)
  Array(bool value);            // NOLINT(google-explicit-constructor)
  Array(const void*) = delete;  // a text is not an array: without this it would become a bool

  static Array zeros(DType dtype, const Shape& shape);
  static Array full(DType dtype, const Shape& shape, double value);  // converted as cast() does
  template <class T>
  static Array of(const Shape& shape, std::span<const T> values) {
    return from_bytes(dtype_of<T>, shape, values.data(), values.size());
  }
  template <class T>
  static Array of(const Shape& shape, std::initializer_list<T> values) {
    return from_bytes(dtype_of<T>, shape, values.begin(), values.size());
  }
  template <class T>
  static Array of(const Shape& shape, const std::vector<T>& values) {
    return from_bytes(dtype_of<T>, shape, values.data(), values.size());
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return elements_; }
  std::size_t bytes() const;
  void* raw() { return data_.get(); }
  const void* raw() const { return data_.get(); }
  const std::shared_ptr<void>& owner() const {
    return data_;
  }  // keeps the memory alive; the same for arrays that share it

  // Typed access; throws if T is not the array's type.
  template <class T>
  std::span<T> values() {
    check_type(dtype_of<T>);
    return {static_cast<T*>(data_.get()), static_cast<std::size_t>(elements_)};
  }
  template <class T>
  std::span<const T> values() const {
    check_type(dtype_of<T>);
    return {static_cast<const T*>(data_.get()), static_cast<std::size_t>(elements_)};
  }

  double item(std::int64_t index = 0) const;        // one element as a number, whatever the type
  void set_item(std::int64_t index, double value);  // converted as cast() does
  Array clone() const;
  Array reshaped(const Shape& shape) const;  // shares the buffer; the number of elements must agree
  // A copy. Floats become integers towards zero, beyond the type's range its end, NaN 0; integers keep their low bits;
  // anything but 0 is true.
  Array cast(DType dtype) const;

 private:
  static Array from_bytes(DType dtype, const Shape& shape, const void* data, std::size_t count);
  void check_type(DType asked) const;

  DType dtype_ = DType::f32;
  Shape shape_{0};
  std::int64_t elements_ = 0;
  std::shared_ptr<void> data_;
};

// Bytes of an array of this shape, or nullopt if the number (or, past a dimension of 0, the number without it) does
// not fit 63 bits: then no arithmetic on the shape is safe. No dimension may be kAny.
std::optional<std::uint64_t> checked_bytes(DType dtype, const Shape& shape);

bool equal(const Array& a, const Array& b);  // same dtype, shape and bytes
std::string to_string(const Array& array);   // "f32 [2, 3] {1, 2, 3, ...}"

}  // namespace belfry
#pragma GCC visibility pop
