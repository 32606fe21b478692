// What the f32 updates of optimizer.cc and sparse_optimizer.cc share. Internal to engine/cpu.
#pragma once

#include <functional>

#include "belfry/engine/cpu/kernels/optimizer.h"
#include "belfry/engine/kernel.h"

namespace belfry {

// Where an f32 update finds its operands; `step` reads the scalars of one run.
struct FastUpdate {
  int slots = 0, gradient = 0;
  std::function<UpdateStep(const Buffers&)> step;
};

// By the attributes and scalar inputs of "Apply<Rule>" and "Apply<Rule>Rows", which are the same.
FastUpdate fast_sgd(const KernelContext& c);
FastUpdate fast_momentum(const KernelContext& c);
FastUpdate fast_adam(const KernelContext& c);

// A scalar operand of either float type.
double scalar_input(const Buffers& b, int index, DType dtype);

// A slot is an input that the update overwrites.
template <class T>
T* slot(const Buffers& b, int index) {
  return const_cast<T*>(b.in<T>(index));
}

}  // namespace belfry
