// The numbers that define a convolution or pooling, from shapes and attributes. Shape rules and kernels both use it; in
// a shape rule any size may still be kAny, and what follows from it is then kAny too.
#pragma once

#include "belfry/array/shape.h"
#include "belfry/graph/attributes.h"
#include "belfry/ops/window.h"

namespace belfry {

struct ConvGeometry {
  std::int64_t n = 0, c = 0, h = 0, w = 0;  // input
  std::int64_t o = 0, kh = 0, kw = 0;       // output channels and window; for pooling o == c
  std::int64_t oh = 0, ow = 0;              // output
  std::int64_t groups = 1;
  Extent strides{}, dilations{};
  Pads pads{};  // resolved; meaningless where h, w, kh or kw is kAny
  bool channels_last = true;

  Shape input_shape() const { return image(n, c, h, w); }
  Shape output_shape() const { return image(n, o, oh, ow); }
  Shape filter_shape() const { return {kh, kw, c == kAny ? kAny : c / groups, o}; }

 private:
  Shape image(std::int64_t images, std::int64_t channels, std::int64_t height, std::int64_t width) const {
    return channels_last ? Shape{images, height, width, channels} : Shape{images, channels, height, width};
  }
};

// Attributes: "strides", "dilations" Ints{h, w}, "padding" "SAME" | "VALID" | "EXPLICIT", "pads" Ints{top, bottom,
// left, right} for EXPLICIT, "groups", "data_format" "NHWC" | "NCHW". The filter is [kh, kw, in / groups, out]. Throws
// Error with a text for the shape rule to pass on.
ConvGeometry conv_geometry(const Shape& x, const Shape& filter, const Attributes& attributes);
// The geometry of the convolution from a transposed one's result y (here the images) back to its input x (here the
// output). Optional attribute "output_size" Ints{h, w} of y.
ConvGeometry transpose_geometry(const Shape& x, const Shape& filter, const Attributes& attributes);
// The same as conv_geometry with "window" Ints{h, w} instead of a filter; no dilations or groups.
ConvGeometry pool_geometry(const Shape& x, const Attributes& attributes);

// The attributes that both families share, from what users write.
void set_window_attributes(Attributes& attributes, Extent strides, const Padding& padding, DataFormat format);
inline Ints to_ints(Extent extent) { return {extent.height, extent.width}; }

}  // namespace belfry
