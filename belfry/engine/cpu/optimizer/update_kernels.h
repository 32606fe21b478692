// Kernels for the ops that update a variable by an optimizer's rule, made from just the rule. Internal to engine/cpu.
//
// The inputs are those of ops/update_op.h: the variable, its slots, for some rules the number of the update, the
// learning rate, then the gradient, or ids and rows of one; last a scale, where the fuse pass has given the node one.
// Input 0 and output 0 are both the variable's own storage, and inputs that hold slots are the slots' own: kernels
// update all of them in place, slots through their input pointers. It is one vectorised pass, which can also write a
// second output: a copy of an f32 variable in another layout.
#pragma once

#include <functional>
#include <string_view>

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/optimizer/optimizer_team.h"

namespace belfry {

struct UpdateScalars {
  double learning_rate = 0;
  double number = 0;  // of this update, 1 for the first
};

struct UpdateKernels {
  int slots = 0;
  bool counted = false;  // takes the number of the update
  // Makes, from the op's attributes, the function that computes an update's numbers. "weight_decay", "decoupled_decay"
  // and the scale of the gradient are handled for every rule.
  std::function<std::function<UpdateStep(const UpdateScalars&)>(const Attributes&)> step{};
  // Makes, from the op's attributes, a factor of the learning rate from two norms: of the weights, and of their
  // direction. The norms are computed in a pass before the update. Empty: none.
  using Trust = std::function<double(double weights, double direction)>;
  std::function<Trust(const Attributes&)> trust{};
};

struct UpdateRegistration {
  KernelRegistration dense, rows;
};
// For "Apply<rule>" and "Apply<rule>Rows".
UpdateRegistration define_update_kernels(std::string_view rule, const UpdateKernels& kernels);

// Where an update finds its operands, and how it uses the scalars: for both kinds of kernels.
class UpdatePlan {
 public:
  UpdatePlan(const KernelContext& c, const UpdateKernels& kernels);

  int first_after_scalars() const { return rate_ + 1; }  // the gradient, or ids
  bool takes_norms() const { return static_cast<bool>(trust_); }

  UpdateStep step(const Buffers& b) const;
  // The same step with its rate adapted, by sums of squares.
  UpdateStep trusted(UpdateStep step, double weights, double direction) const;

  template <class T>
  UpdateBuffers<T> operands(const Buffers& b, int gradient) const {
    UpdateBuffers<T> out{.weights = b.out<T>(), .gradient = b.in<T>(gradient)};
    for (int i = 0; i < slots_; ++i) out.slots[i] = const_cast<T*>(b.in<T>(i + 1));
    return out;
  }

 private:
  int slots_, rate_, number_ = -1, scale_ = -1;
  DType rate_type_, number_type_ = DType::f32;
  double weight_decay_, decoupled_decay_;
  std::function<UpdateStep(const UpdateScalars&)> step_;
  UpdateKernels::Trust trust_;
};

// How to update the rows of a sparse gradient.
KernelPtr make_rows_update(const KernelContext& c, const UpdateKernels& kernels);

}  // namespace belfry
