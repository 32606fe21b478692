#include "belfry/engine/cpu/conv/few_channels_team.h"

#include <algorithm>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/conv/columns_simd.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"

namespace belfry {
namespace {

constexpr std::int64_t kChunkFloats = 8192;  // of columns at a time: they are added up while in the first-level cache

std::int64_t taps(const ConvGeometry& g) { return g.kh * g.kw * g.c; }
std::int64_t column_width(const ConvGeometry& g) { return (taps(g) + 15) / 16 * 16; }
std::int64_t rows_a_chunk(const ConvGeometry& g) {
  return std::clamp<std::int64_t>(kChunkFloats / (g.ow * column_width(g)), 1, g.oh);
}
std::size_t weight_bytes(const ConvGeometry& g) {
  return cache_lines(static_cast<std::size_t>(g.o * column_width(g)) * sizeof(float));
}
std::size_t chunk_bytes(const ConvGeometry& g) {
  return cache_lines(static_cast<std::size_t>(rows_a_chunk(g) * g.ow * column_width(g)) * sizeof(float));
}

// The filter with its taps last: [o][column width].
void pack(const ConvGeometry& g, const float* filter, float* weights) {
  const std::int64_t width = column_width(g);
  for (std::int64_t o = 0; o < g.o; ++o)
    for (std::int64_t k = 0; k < width; ++k) weights[o * width + k] = k < taps(g) ? filter[k * g.o + o] : 0.f;
}

// Rows [begin, end) of one image's dx.
struct Band {
  std::int64_t image = 0, begin = 0, end = 0;
};

class BackwardData {
 public:
  BackwardData(const FewChannelsBackwardData& args, const float* weights)
      : args_(args), g_(args.g), weights_(weights), kernels_(by_isa(args.isa, avx2::kColumns, avx512::kColumns)) {}

  void run(const Band& band, float* columns) const {
    float* dx = args_.dx + band.image * g_.h * g_.w * g_.c;
    std::fill(dx + band.begin * g_.w * g_.c, dx + band.end * g_.w * g_.c, 0.f);
    // Rows whose windows overlap the band.
    const std::int64_t reach = (g_.kh - 1) * g_.dilations.height, stride = g_.strides.height;
    const std::int64_t above = std::max<std::int64_t>(band.begin + g_.pads.top - reach, 0);
    const std::int64_t first = (above + stride - 1) / stride;
    const std::int64_t last = std::min(g_.oh, (band.end - 1 + g_.pads.top) / stride + 1);
    for (std::int64_t oy = first; oy < last; oy += rows_a_chunk(g_)) {
      const std::int64_t rows = std::min(rows_a_chunk(g_), last - oy);
      make_columns(band.image, oy, rows, columns);
      for (std::int64_t r = 0; r < rows; ++r) add_row(band, oy + r, columns + r * g_.ow * column_width(g_), dx);
    }
  }

 private:
  void make_columns(std::int64_t image, std::int64_t oy, std::int64_t rows, float* columns) const {
    const ActivationView& view = args_.dy_view;
    kernels_.run({.pixels = rows * g_.ow,
                  .channels = g_.o,
                  .inner = view.inner,
                  .group_stride = view.slab(),
                  .width = column_width(g_),
                  .x = args_.dy + image * view.groups * view.slab() + oy * g_.ow * view.inner,
                  .weights = weights_,
                  .columns = columns});
  }

  // Adds the columns of one row of dy to the band's rows that they overlap.
  void add_row(const Band& band, std::int64_t oy, const float* columns, float* dx) const {
    for (std::int64_t ky = 0; ky < g_.kh; ++ky) {
      const std::int64_t y = oy * g_.strides.height - g_.pads.top + ky * g_.dilations.height;
      if (y < band.begin || y >= band.end) continue;
      float* to = dx + y * g_.w * g_.c;
      const float* from = columns + ky * g_.kw * g_.c;
      // Whole windows in the middle; at the ends only their part on the image.
      const std::int64_t stride = g_.strides.width, left = g_.pads.left, room = g_.w - g_.kw + left;
      std::int64_t begin = std::min((left + stride - 1) / stride, g_.ow), end = room < 0 ? 0 : room / stride + 1;
      end = std::min(end, g_.ow);
      if (g_.dilations.width != 1 || begin >= end) begin = end = g_.ow;
      add_clipped(0, begin, from, to);
      add_whole(begin, end, from, to);
      add_clipped(end, g_.ow, from, to);
    }
  }

  void add_whole(std::int64_t begin, std::int64_t end, const float* from, float* to) const {
    const std::int64_t width = column_width(g_), step = g_.strides.width * g_.c, length = g_.kw * g_.c;
    from += begin * width;
    to += (begin * g_.strides.width - g_.pads.left) * g_.c;
    for (std::int64_t ox = begin; ox < end; ++ox, from += width, to += step)
      for (std::int64_t i = 0; i < length; ++i) to[i] += from[i];
  }

  void add_clipped(std::int64_t begin, std::int64_t end, const float* from, float* to) const {
    for (std::int64_t ox = begin; ox < end; ++ox)
      for (std::int64_t kx = 0; kx < g_.kw; ++kx) {
        const std::int64_t x = ox * g_.strides.width - g_.pads.left + kx * g_.dilations.width;
        if (x < 0 || x >= g_.w) continue;
        for (std::int64_t c = 0; c < g_.c; ++c) to[x * g_.c + c] += from[ox * column_width(g_) + kx * g_.c + c];
      }
  }

  const FewChannelsBackwardData& args_;
  const ConvGeometry& g_;
  const float* weights_;
  const simd::ColumnsKernels& kernels_;
};

}  // namespace

void few_channels_backward_data(const FewChannelsBackwardData& args) {
  const ConvGeometry& g = args.g;
  std::byte* scratch = align_scratch(args.scratch);
  auto* weights = reinterpret_cast<float*>(scratch);
  pack(g, args.filter, weights);
  const BackwardData work(args, weights);
  // Whole images, or bands of them if there are fewer images than threads.
  const std::int64_t team = team_size(), bands = std::min(g.h, std::max<std::int64_t>(1, (team + g.n - 1) / g.n));
  const std::int64_t multiplications = 2 * g.n * g.oh * g.ow * g.o * taps(g);
  const int parts = static_cast<int>(std::clamp<std::int64_t>(multiplications >> 20, 1, std::min(team, g.n * bands)));
  run_parts(parts, [&](int part) {
    auto* columns =
        reinterpret_cast<float*>(scratch + weight_bytes(g) + static_cast<std::size_t>(part) * chunk_bytes(g));
    for (std::int64_t unit = g.n * bands * part / parts; unit < g.n * bands * (part + 1) / parts; ++unit) {
      const std::int64_t band = unit % bands;
      work.run({unit / bands, g.h * band / bands, g.h * (band + 1) / bands}, columns);
    }
  });
}

std::size_t few_channels_scratch_bytes(const ConvGeometry& g, int team) {
  return 64 + weight_bytes(g) + static_cast<std::size_t>(team) * chunk_bytes(g);
}

}  // namespace belfry
