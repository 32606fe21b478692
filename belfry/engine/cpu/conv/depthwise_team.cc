#include "belfry/engine/cpu/conv/depthwise_team.h"

#include <algorithm>
#include <array>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"

namespace belfry {

namespace {

constexpr int kWidest = 16;

// Where the vectors of channels lie.
struct Vectors {
  Vectors(const Depthwise& c, Isa isa)
      : width(vector_width(isa)),
        multiplier(c.multiplier),
        in((c.channels + width - 1) / width),
        out((c.outputs() + width - 1) / width),
        in_slab(c.window.in_h * c.window.in_w * width),
        out_slab(c.window.out_h * c.window.out_w * width),
        filter(c.taps() * width) {}

  // A vector of outputs comes from one vector of x.
  std::int64_t x_of(std::int64_t image, std::int64_t vector) const {
    return (image * in + vector / multiplier) * in_slab;
  }
  std::int64_t y_of(std::int64_t image, std::int64_t vector) const { return (image * out + vector) * out_slab; }

  std::int64_t width, multiplier, in, out, in_slab, out_slab, filter;
};

// Which lane of x's vector each lane of a vector of outputs belongs to.
class Lanes {
 public:
  Lanes(const Vectors& v, std::int64_t vector) : multiplied_(v.multiplier > 1) {
    for (std::int64_t i = 0; i < v.width; ++i)
      table_[static_cast<std::size_t>(i)] =
          static_cast<std::int32_t>((vector % v.multiplier * v.width + i) / v.multiplier);
  }
  const std::int32_t* data() const { return multiplied_ ? table_.data() : nullptr; }

 private:
  std::array<std::int32_t, kWidest> table_{};
  bool multiplied_;
};

// Of vectors if each is enough work, else of images.
bool by_vector(std::int64_t vectors, int parts) { return (vectors + parts - 1) / parts * parts * 4 <= vectors * 5; }

int parts_of(const Depthwise& c, const Vectors& v, int team) {
  return parts_worth(c.images * v.out * v.out_slab * c.taps(), team);
}

// One row of dx, for one vector of outputs. At stride 1 it is a convolution of dy with the filter reversed.
void gradient_row(const DepthwiseBackwardData& args, const simd::DepthwiseGradientRow& a, std::int64_t width) {
  const simd::DepthwiseKernels& kernels = by_isa(args.isa, avx2::kDepthwise, avx512::kDepthwise);
  const simd::DepthwiseWindow& w = a.window;
  if (w.stride_h != 1 || w.stride_w != 1) return kernels.gradient_row(a);
  kernels.forward_row({.window = {.in_h = w.out_h,
                                  .in_w = w.out_w,
                                  .out_h = w.in_h,
                                  .out_w = w.in_w,
                                  .kernel_h = w.kernel_h,
                                  .kernel_w = w.kernel_w,
                                  .dilation_h = w.dilation_h,
                                  .dilation_w = w.dilation_w,
                                  .pad_top = (w.kernel_h - 1) * w.dilation_h - w.pad_top,
                                  .pad_left = (w.kernel_w - 1) * w.dilation_w - w.pad_left},
                       .row = a.row,
                       .x = a.dy,
                       .filter = a.filter + (args.conv.taps() - 1) * width,
                       .tap = -width,
                       .y = a.dx,
                       .step = a.step});
}

}  // namespace

void depthwise_forward(const DepthwiseForward& args) {
  const Depthwise& c = args.conv;
  const Vectors v(c, args.isa);
  const simd::DepthwiseKernels& kernels = by_isa(args.isa, avx2::kDepthwise, avx512::kDepthwise);
  for_each_slab(c.images * v.out, c.window.out_h, parts_of(c, v, team_size()), [&](const SlabRows& s) {
    const std::int64_t image = s.slab / v.out, vector = s.slab % v.out;
    const Lanes lanes(v, vector);
    std::array<float, kWidest> bias{};
    if (args.bias != nullptr)
      std::copy_n(args.bias + vector * v.width, std::min(v.width, c.outputs() - vector * v.width), bias.data());
    for (std::int64_t row = s.begin; row < s.end; ++row)
      kernels.forward_row({.window = c.window,
                           .row = row,
                           .x = args.x + v.x_of(image, vector),
                           .filter = args.filter + vector * v.filter,
                           .tap = v.width,
                           .bias = bias.data(),
                           .y = args.y + v.y_of(image, vector) + row * c.window.out_w * v.width,
                           .step = v.width,
                           .relu = args.relu,
                           .lanes = lanes.data()});
  });
}

void depthwise_backward_data(const DepthwiseBackwardData& args) {
  const Depthwise& c = args.conv;
  const Vectors v(c, args.isa);
  const std::int64_t step = v.multiplier * v.width, cells = c.window.in_w;
  for_each_slab(c.images * v.in, c.window.in_h, parts_of(c, v, team_size()), [&](const SlabRows& s) {
    const std::int64_t image = s.slab / v.in, first = s.slab % v.in * v.multiplier;
    const std::int64_t last = std::min(first + v.multiplier, v.out);
    float* spread = reinterpret_cast<float*>(align_scratch(args.scratch)) + s.part * cells * step;
    // Lanes of outputs that do not exist: the channels they would belong to are padding.
    if (last < first + v.multiplier) std::fill(spread, spread + cells * step, 0.f);
    for (std::int64_t row = s.begin; row < s.end; ++row) {
      float* dx = args.dx + s.slab * v.in_slab + row * cells * v.width;
      for (std::int64_t vector = first; vector < last; ++vector)
        gradient_row(args,
                     {.window = c.window,
                      .row = row,
                      .dy = args.dy + v.y_of(image, vector),
                      .filter = args.filter + vector * v.filter,
                      .dx = v.multiplier == 1 ? dx : spread + (vector - first) * v.width,
                      .step = step},
                     v.width);
      if (v.multiplier > 1)
        by_isa(args.isa, avx2::kDepthwise, avx512::kDepthwise)
            .fold({.cells = cells, .multiplier = v.multiplier, .from = spread, .to = dx});
    }
  });
}

// Each part sums into a separate table ([vector][taps, then the bias][lane]), or, if parts have different vectors,
// all into one.
void depthwise_backward_filter(const DepthwiseBackwardFilter& args) {
  const Depthwise& c = args.conv;
  const Vectors v(c, args.isa);
  const int parts = parts_of(c, v, team_size()), tables = by_vector(v.out, parts) ? 1 : parts;
  const std::int64_t entry = v.filter + v.width, table = v.out * entry;
  float* sums = reinterpret_cast<float*>(align_scratch(args.scratch));
  run_parts(parts, [&](int part) {
    const bool whole = tables == 1;
    const auto share = [&](std::int64_t n, std::int64_t p) { return n * p / parts; };
    float* own = sums + (whole ? 0 : part * table);
    for (std::int64_t vector = whole ? share(v.out, part) : 0; vector < (whole ? share(v.out, part + 1) : v.out);
         ++vector) {
      const Lanes lanes(v, vector);
      float* to = own + vector * entry;
      std::fill(to, to + entry, 0.f);
      for (std::int64_t image = whole ? 0 : share(c.images, part);
           image < (whole ? c.images : share(c.images, part + 1)); ++image)
        by_isa(args.isa, avx2::kDepthwise, avx512::kDepthwise)
            .filter_gradient({.window = c.window,
                              .x = args.x + v.x_of(image, vector),
                              .dy = args.dy + v.y_of(image, vector),
                              .dfilter = to,
                              .dbias = args.dbias != nullptr ? to + v.filter : nullptr,
                              .lanes = lanes.data()});
    }
  });
  for (int part = 1; part < tables; ++part)
    for (std::int64_t i = 0; i < table; ++i) sums[i] += sums[part * table + i];
  for (std::int64_t vector = 0; vector < v.out; ++vector) {
    const float* from = sums + vector * entry;
    std::copy_n(from, v.filter, args.dfilter + vector * v.filter);
    if (args.dbias != nullptr)
      std::copy_n(from + v.filter, std::min(v.width, c.outputs() - vector * v.width), args.dbias + vector * v.width);
  }
}

std::size_t depthwise_backward_data_scratch(const Depthwise& c, int team, Isa isa) {
  if (c.multiplier == 1) return 0;
  const Vectors v(c, isa);
  const std::int64_t rows = parts_of(c, v, team) * c.window.in_w * v.multiplier * v.width;
  return static_cast<std::size_t>(rows) * sizeof(float) + 64;
}

std::size_t depthwise_backward_filter_scratch(const Depthwise& c, int team, Isa isa) {
  const Vectors v(c, isa);
  const std::int64_t tables = parts_of(c, v, team) * v.out * (v.filter + v.width);
  return static_cast<std::size_t>(tables) * sizeof(float) + 64;
}

}  // namespace belfry
