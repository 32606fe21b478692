#include "belfry/ops/internal/conv_geometry.h"

#include <algorithm>

#include "belfry/base/check.h"

namespace belfry {
namespace {

Extent extent(const Attributes& attributes, const char* name) {
  const Ints& value = attributes.get<Ints>(name);
  BELFRY_CHECK(value.size() == 2 && value[0] >= 1 && value[1] >= 1,
               "expected {} of two positive numbers (height, width), got {}", name, to_string(Attribute(value)));
  return {value[0], value[1]};
}

struct Axis {
  std::int64_t out = kAny, before = 0, after = 0;
};

// One axis of the image: `reach` is the window's size with its dilation.
Axis resolve(const char* what, std::int64_t size, std::int64_t reach, std::int64_t stride, const std::string& padding,
             Axis given) {
  if (padding == "SAME") {
    if (size == kAny) return {};
    const std::int64_t out = (size + stride - 1) / stride;
    if (reach == kAny) return {out, 0, 0};
    const std::int64_t total = std::max<std::int64_t>((out - 1) * stride + reach - size, 0);
    return {out, total / 2, total - total / 2};
  }
  if (size == kAny || reach == kAny) return {kAny, given.before, given.after};
  const std::int64_t padded = size + given.before + given.after;
  BELFRY_CHECK(padded >= reach,
               "expected an input at least as {} as the window's reach of {}, got {} (padding included). Use "
               "Padding::same or a smaller window",
               what, reach, padded);
  return {(padded - reach) / stride + 1, given.before, given.after};
}

std::int64_t reach_of(std::int64_t window, std::int64_t dilation) {
  return window == kAny ? kAny : (window - 1) * dilation + 1;
}

// The padding in the attributes; all of it 0 unless it is explicit.
Pads given_pads(const Attributes& attributes) {
  const std::string& padding = attributes.get<std::string>("padding");
  BELFRY_CHECK(padding == "SAME" || padding == "VALID" || padding == "EXPLICIT",
               "expected padding SAME, VALID or EXPLICIT, got {}", padding);
  if (padding != "EXPLICIT") return {};
  const Ints& pads = attributes.get<Ints>("pads");
  BELFRY_CHECK(pads.size() == 4 && std::ranges::all_of(pads, [](std::int64_t p) { return p >= 0; }),
               "expected pads of four numbers from 0 up (top, bottom, left, right), got {}",
               to_string(Attribute(pads)));
  return {pads[0], pads[1], pads[2], pads[3]};
}

// Everything but channels: g.kh, g.kw, g.dilations are set already.
void resolve_image(ConvGeometry& g, const Shape& x, const Attributes& attributes) {
  g.strides = extent(attributes, "strides");
  const std::string& padding = attributes.get<std::string>("padding");
  const Pads pads = given_pads(attributes);
  Axis vertical{kAny, pads.top, pads.bottom}, horizontal{kAny, pads.left, pads.right};
  g.n = x[0];
  g.h = x[g.channels_last ? 1 : 2];
  g.w = x[g.channels_last ? 2 : 3];
  vertical = resolve("high", g.h, reach_of(g.kh, g.dilations.height), g.strides.height, padding, vertical);
  horizontal = resolve("wide", g.w, reach_of(g.kw, g.dilations.width), g.strides.width, padding, horizontal);
  g.oh = vertical.out;
  g.ow = horizontal.out;
  g.pads = {vertical.before, vertical.after, horizontal.before, horizontal.after};
}

// The rule of conv_transpose.h for an axis whose size is not given.
std::int64_t transposed_size(std::int64_t size, std::int64_t reach, std::int64_t stride, const std::string& padding,
                             std::int64_t pads) {
  if (size == kAny) return kAny;
  if (padding == "SAME") return size * stride;
  if (reach == kAny) return kAny;
  BELFRY_CHECK(size > 0, "expected an input of at least 1 x 1 pixels, got a size of {}. Use Padding::same", size);
  if (padding == "VALID") return size * stride + std::max<std::int64_t>(reach - stride, 0);
  const std::int64_t out = (size - 1) * stride + reach - pads;
  BELFRY_CHECK(out > 0, "expected padding smaller than the output, got {} for a size of {} without it", pads,
               out + pads);
  return out;
}

void read_format(ConvGeometry& g, const Shape& x, const Attributes& attributes) {
  const std::string& format = attributes.get<std::string>("data_format");
  BELFRY_CHECK(format == "NHWC" || format == "NCHW", "expected data_format NHWC or NCHW, got {}", format);
  g.channels_last = format == "NHWC";
  BELFRY_CHECK(x.rank() == 4, "expected an input of rank 4 ({}), got {}. Use expand_dims() or reshape()", format,
               to_string(x));
  g.c = x[g.channels_last ? 3 : 1];
}

}  // namespace

ConvGeometry conv_geometry(const Shape& x, const Shape& filter, const Attributes& attributes) {
  ConvGeometry g;
  read_format(g, x, attributes);
  BELFRY_CHECK(filter.rank() == 4,
               "expected a filter of rank 4 (height, width, channels in / groups, channels out), got {}",
               to_string(filter));
  BELFRY_CHECK(filter[0] != 0 && filter[1] != 0, "expected a filter of at least 1 x 1, got {}", to_string(filter));
  g.kh = filter[0];
  g.kw = filter[1];
  g.o = filter[3];
  g.dilations = extent(attributes, "dilations");
  g.groups = attributes.integer("groups");
  BELFRY_CHECK(g.groups >= 1, "expected 1 group or more, got {}", g.groups);
  BELFRY_CHECK(
      g.o == kAny || g.o % g.groups == 0,
      "expected a filter whose output channels divide into {} groups, got {} ({}). Use a multiple of the groups",
      g.groups, g.o, to_string(filter));
  const std::int64_t wanted = filter[2] == kAny ? kAny : filter[2] * g.groups;
  BELFRY_CHECK(g.c == kAny || wanted == kAny || g.c == wanted,
               "input has {} channels {} ({}), but the filter {} expects {}{}. Give the filter the input's channels, "
               "or check the data_format",
               g.c, g.channels_last ? "last" : "first", to_string(x), to_string(filter), wanted,
               g.groups == 1 ? "" : fmt::format(" ({} in each of {} groups)", filter[2], g.groups));
  if (g.c == kAny) g.c = wanted;
  BELFRY_CHECK(
      g.c == kAny || g.c % g.groups == 0,
      "expected an input whose channels divide into {} groups, got {} ({}). Use a number of groups that divides them",
      g.groups, g.c, to_string(x));
  resolve_image(g, x, attributes);
  return g;
}

ConvGeometry transpose_geometry(const Shape& x, const Shape& filter, const Attributes& attributes) {
  ConvGeometry g;
  read_format(g, x, attributes);
  BELFRY_CHECK(filter.rank() == 4,
               "expected a filter of rank 4 (height, width, channels out / groups, channels in), got {}",
               to_string(filter));
  BELFRY_CHECK(g.c == kAny || filter[3] == kAny || g.c == filter[3],
               "input has {} channels {} ({}), but the filter {} expects {} (its last axis)", g.c,
               g.channels_last ? "last" : "first", to_string(x), to_string(filter), filter[3]);
  const Extent strides = extent(attributes, "strides"), dilations = extent(attributes, "dilations");
  const Pads pads = given_pads(attributes);
  const std::string& padding = attributes.get<std::string>("padding");
  const int rows = g.channels_last ? 1 : 2, columns = rows + 1;
  Extent size(
      transposed_size(x[rows], reach_of(filter[0], dilations.height), strides.height, padding, pads.top + pads.bottom),
      transposed_size(x[columns], reach_of(filter[1], dilations.width), strides.width, padding,
                      pads.left + pads.right));
  if (attributes.find("output_size") != nullptr) size = extent(attributes, "output_size");
  const std::int64_t groups = attributes.integer("groups"), out = filter[2] == kAny ? kAny : filter[2] * groups;
  const Shape y =
      g.channels_last ? Shape{x[0], size.height, size.width, out} : Shape{x[0], out, size.height, size.width};
  g = conv_geometry(y, filter, attributes);
  BELFRY_CHECK(
      compatible(g.output_shape(), x),
      "expected an output_size that the convolution maps back to the input {}, got {} x {}, which gives {}. Omit it "
      "for the default size",
      to_string(x), size.height, size.width, to_string(g.output_shape()));
  const Shape back = merge(g.output_shape(), x);  // takes sizes that follow from nothing else from x
  g.n = back[0], g.oh = back[rows], g.ow = back[columns], g.o = back[g.channels_last ? 3 : 1];
  return g;
}

ConvGeometry pool_geometry(const Shape& x, const Attributes& attributes) {
  ConvGeometry g;
  read_format(g, x, attributes);
  g.o = g.c;
  const Extent window = extent(attributes, "window");
  g.kh = window.height;
  g.kw = window.width;
  resolve_image(g, x, attributes);
  // A window that lies entirely in the padding would have nothing to take the maximum or the mean of.
  BELFRY_CHECK(g.pads.top < g.kh && g.pads.bottom < g.kh && g.pads.left < g.kw && g.pads.right < g.kw,
               "expected padding smaller than the window ({} x {}), got {}, {}, {}, {} (top, bottom, left, right). Use "
               "less padding, or pad() the input first",
               g.kh, g.kw, g.pads.top, g.pads.bottom, g.pads.left, g.pads.right);
  return g;
}

void set_window_attributes(Attributes& attributes, Extent strides, const Padding& padding, DataFormat format) {
  attributes.set("strides", to_ints(strides));
  attributes.set("padding", std::string(padding == Padding::same    ? "SAME"
                                        : padding == Padding::valid ? "VALID"
                                                                    : "EXPLICIT"));
  if (padding.kind() == Padding::Kind::explicit_) {
    const Pads& p = padding.pads();
    attributes.set("pads", Ints{p.top, p.bottom, p.left, p.right});
  }
  attributes.set("data_format", std::string(format == DataFormat::nhwc ? "NHWC" : "NCHW"));
}

}  // namespace belfry
