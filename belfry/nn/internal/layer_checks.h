// What layers check, and the texts that their errors share. Internal to belfry/nn; called inside a layer's scope.
#pragma once

#include <cstdint>
#include <string>

#include "belfry/graph/tensor.h"
#include "belfry/ops/window.h"

namespace belfry {

std::string layer_title(const char* kind);  // "[conv2d 'block2/conv1']"
std::string layer_line();                   // "(at train.cc:42)": where the layer was named

int channel_axis(DataFormat format, int rank);
// The number of channels (or features) in an axis, which must be known.
std::int64_t known_size(const char* kind, const Tensor& x, int axis, const char* what);
void check_rank(const char* kind, const Tensor& x, int rank, const char* what);
// Checks that x can be multiplied with weights: to be called before any variable of its type is made.
void check_float(const char* kind, const Tensor& x, const char* what);
// Whether the tower that is being built trains.
bool layer_trains(const char* kind);

}  // namespace belfry
