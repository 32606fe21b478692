// Floating-point operations of a node: multiply-adds count as two for convolutions, matrix products, recurrent
// products and attention; one per element for the rest.
#pragma once

#include <vector>

#include "belfry/array/shape.h"
#include "belfry/graph/attributes.h"

namespace belfry {

// What the count depends on; shapes are concrete.
struct Work {
  const Attributes& attributes;
  std::vector<Shape> inputs, outputs;
};

// What kernels declare.
double no_flops(const Work& work);  // moves values and computes none
double conv_flops(const Work& work);
double conv_transpose_flops(const Work& work);
double conv_input_flops(const Work& work);   // the gradient of the image
double conv_filter_flops(const Work& work);  // the gradient of the filter
double matmul_flops(const Work& work);
double recurrent_flops(const Work& work);
double attention_flops(const Work& work);

double one_an_element(const Work& work);  // of the largest output: the default

}  // namespace belfry
