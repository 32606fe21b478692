// Memory that the host cannot read, for the testing backend: pages that are closed except while FarArray itself copies.
// Code that uses its address as a host pointer crashes.
#pragma once

#include <cstddef>

#include "belfry/array/array.h"
#include "belfry/base/mutex.h"

namespace belfry {

class FarArray {
 public:
  FarArray() = default;
  FarArray(DType dtype, const Shape& shape);
  ~FarArray();
  FarArray(FarArray&& other) noexcept;
  FarArray& operator=(FarArray&& other) noexcept;
  FarArray(const FarArray&) = delete;
  FarArray& operator=(const FarArray&) = delete;

  void put(const void* host);  // as many bytes as it has
  void get(void* host) const;
  Array get() const;
  const void* address() const { return pages_; }  // not to be read
  std::size_t bytes() const { return bytes_; }

 private:
  mutable Mutex mutex_;  // held while the pages are open
  void* pages_ = nullptr;
  std::size_t bytes_ = 0, reserved_ = 0;
  DType dtype_ = DType::f32;
  Shape shape_{};
};

}  // namespace belfry
