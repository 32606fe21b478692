// Helpers to define pointwise ops; shared by the files of the family.
#pragma once

#include <utility>

#include "belfry/graph/op_def.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/internal/known_ints.h"

namespace belfry {

// dx from dy, the input and the output.
using UnaryGradient = Tensor (*)(const Tensor& dy, const Tensor& x, const Tensor& y);
// The two gradients, each of the broadcast shape; the helper sums them back to the operands' shapes.
using BinaryGradient = std::pair<Tensor, Tensor> (*)(const Tensor& dy, const Tensor& a, const Tensor& b,
                                                     const Tensor& y);

// Without a gradient function the op is not differentiable. Operands of a binary op have one type. `ints` is the
// function on integers that shapes are made of.
OpDefinition define_unary(const char* name, Elements allowed, const char* doc, UnaryGradient gradient);
OpDefinition define_binary(const char* name, Elements allowed, const char* doc, BinaryGradient gradient,
                           IntFunction ints = nullptr);
OpRegistration define_comparison(const char* name, const char* doc);  // of any type

}  // namespace belfry
