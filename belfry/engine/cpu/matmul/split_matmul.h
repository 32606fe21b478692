// Matrix products split by hand, one single-threaded oneDNN primitive per thread. oneDNN splits by output tiles,
// regardless of which core last had the operands in its cache; for the thin products of a fully connected layer that
// moves the weights from core to core in every step. Here each thread keeps the same rows of the weights in the forward
// product (split by depth), in the weights' gradient (by rows) and in the optimizer's update (by elements).
#pragma once

#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {

struct MatMulShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};

enum class MatMulSplit { none, rows, depth };

// The only way in which such a product can be split into this many parts, whether that is useful or not.
MatMulSplit possible_split(const MatMulShape& shape, int threads);
// A fixed rule by shape and thread count.
MatMulSplit choose_split(const MatMulShape& shape, int threads);

struct MatMulEpilogue {
  bool bias = false, relu = false;  // bias is input 2
};
KernelPtr make_split_matmul(const MatMulShape& shape, MatMulSplit split, int threads, MatMulEpilogue epilogue);

}  // namespace belfry
