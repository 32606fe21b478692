// Matrix products cut by hand, one single-threaded oneDNN primitive a thread. oneDNN cuts by output tiles, whoever last
// had the operands in its cache; for the thin products of a fully connected layer that moves the weights from core to
// core in every step. Here each thread keeps the same rows of the weights in the forward product (cut by depth), in
// the weights' gradient (cut by rows) and in the optimizer's update (cut by elements).
#pragma once

#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {

struct MatMulShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};

enum class MatMulSplit { none, rows, depth };

// The one way in which such a product can be cut into as many parts, whether that is of use or not.
MatMulSplit possible_split(const MatMulShape& shape, int threads);
// A fixed rule by shape and thread count.
MatMulSplit choose_split(const MatMulShape& shape, int threads);

struct MatMulEpilogue {
  bool bias = false, relu = false;  // bias is input 2
};
KernelPtr make_split_matmul(const MatMulShape& shape, MatMulSplit split, int threads, MatMulEpilogue epilogue);

}  // namespace belfry
