// Max and average pooling over any layout of the form [outer][groups][height * width][inner] (see activation_view.h),
// on the calling thread's team. Padding lanes of the input are zero, and so are those of the results.
#pragma once

#include <cstdint>

#include "belfry/engine/cpu/kernel/isa.h"

namespace belfry {

struct Pooling {
  std::int64_t outer = 0, groups = 0, inner = 0;
  std::int64_t height = 0, width = 0;
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;

  std::int64_t out_height() const { return windows(height + pad_top + pad_bottom, kernel_h, stride_h); }
  std::int64_t out_width() const { return windows(width + pad_left + pad_right, kernel_w, stride_w); }
  std::int64_t in_elements() const { return outer * groups * height * width * inner; }
  std::int64_t out_elements() const { return outer * groups * out_height() * out_width() * inner; }

 private:
  static std::int64_t windows(std::int64_t size, std::int64_t kernel, std::int64_t stride) {
    return size < kernel ? 0 : (size - kernel) / stride + 1;
  }
};

// y = max over the window; index (one byte for each element of y) = number ky * kernel_w + kx of the first cell that
// has it. Where there is NaN, y is NaN and index its last cell.
struct MaxPoolForward {
  Pooling pooling;
  const float* x = nullptr;
  float* y = nullptr;
  std::uint8_t* index = nullptr;  // null: not wanted
  Isa isa = cpu_isa();
};

// dx = sum of dy over the windows whose maximum the cell was; writes every element of dx once. With y, the gradient of
// a ReLU before the pooling is included: only windows with y > 0 pass theirs on.
struct MaxPoolBackward {
  Pooling pooling;
  const float* dy = nullptr;
  const std::uint8_t* index = nullptr;
  const float* y = nullptr;
  float* dx = nullptr;
  Isa isa = cpu_isa();
};

// y = mean over the window's cells; padding counts as cells of value 0 if include_padding, else not at all
struct AveragePoolForward {
  Pooling pooling;
  const float* x = nullptr;
  float* y = nullptr;
  bool include_padding = false;
  Isa isa = cpu_isa();
};

struct AveragePoolBackward {
  Pooling pooling;
  const float* dy = nullptr;
  float* dx = nullptr;
  bool include_padding = false;
  Isa isa = cpu_isa();
};

void max_pool_forward(const MaxPoolForward& args);
void max_pool_backward(const MaxPoolBackward& args);
void average_pool_forward(const AveragePoolForward& args);
void average_pool_backward(const AveragePoolBackward& args);

}  // namespace belfry
