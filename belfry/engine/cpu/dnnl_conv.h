// oneDNN's f32 convolutions: the layouts it wants, and its primitives as kernels. Stands in front of the reference in
// conv.cc.
#pragma once

#include "belfry/engine/kernel.h"

namespace belfry {

// Whether oneDNN does this one: f32, no empty dimension, one group. `x`, `filter`, `y` say which shapes they are.
struct ConvTensors {
  Shape x, filter, y;
  DType dtype = DType::f32;
};
bool dnnl_does(const ConvTensors& tensors, const Attributes& attributes);

// Inputs x, filter and, if there are three, bias; attribute "relu".
LayoutChoice conv_forward_layouts(const KernelContext& c);
KernelPtr make_conv_forward(const KernelContext& c);
Algorithms conv_forward_algorithms(const KernelContext& c);
// Inputs x (shape only), filter, dy.
LayoutChoice conv_backward_data_layouts(const KernelContext& c);
KernelPtr make_conv_backward_data(const KernelContext& c);
Algorithms conv_backward_data_algorithms(const KernelContext& c);
// Inputs x, filter (shape only), dy; a second output, if there is one, is the bias gradient.
LayoutChoice conv_backward_filter_layouts(const KernelContext& c);
KernelPtr make_conv_backward_filter(const KernelContext& c);
Algorithms conv_backward_filter_algorithms(const KernelContext& c);

}  // namespace belfry
