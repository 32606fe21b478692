// Results with a pixel for each position of a grid: y itself, or the pixels of dx that the same taps of the filter
// reach, one grid for each of stride x stride phases. A thread takes strips of images: it rounds the pixels that a
// strip needs into separate memory, with zeros around them, and the tiles read them there.
#include "belfry/engine/cpu/conv/tile_conv.h"

#include <algorithm>

#include "belfry/engine/cpu/conv/conv_tiles.h"
#include "belfry/engine/cpu/kernel/bf16_support.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/lanes/shares.h"
#include "belfry/engine/cpu/matmul/gemm_tiles.h"

namespace belfry {
namespace {

// One axis of a grid: position u meets source pixel first + u * step + shift of a tap.
struct Axis {
  std::int64_t size = 0, first = 0, step = 1;
  std::int64_t out_first = 0, out_step = 1;  // the result's pixel of a position
  std::vector<std::int64_t> taps{}, shifts{};
  std::int64_t lowest(std::int64_t begin) const { return first + begin * step + extreme(false); }
  std::int64_t highest(std::int64_t end) const { return first + (end - 1) * step + extreme(true); }

 private:
  std::int64_t extreme(bool largest) const {
    if (shifts.empty()) return 0;
    return largest ? *std::ranges::max_element(shifts) : *std::ranges::min_element(shifts);
  }
};

Axis forward_axis(std::int64_t out, std::int64_t taps, std::int64_t stride, std::int64_t dilation, std::int64_t pad) {
  Axis axis{.size = out, .first = -pad, .step = stride};
  for (std::int64_t k = 0; k < taps; ++k) axis.taps.push_back(k), axis.shifts.push_back(k * dilation);
  return axis;
}

// Pixel i of dx gets dy[o] through tap k where i + pad = o * stride + k * dilation.
std::vector<Axis> backward_axes(std::int64_t in, std::int64_t taps, std::int64_t stride, std::int64_t dilation,
                                std::int64_t pad) {
  std::vector<Axis> out;
  for (std::int64_t phase = 0; phase < stride; ++phase) {
    const std::int64_t first = std::max<std::int64_t>(0, (pad - phase + stride - 1) / stride);
    const std::int64_t pixel = first * stride + phase - pad;
    if (pixel >= in) continue;
    Axis axis{.size = (in - pixel + stride - 1) / stride, .first = first, .out_first = pixel, .out_step = stride};
    for (std::int64_t k = 0; k < taps; ++k)
      if (k * dilation % stride == phase) axis.taps.push_back(k), axis.shifts.push_back(-(k * dilation / stride));
    out.push_back(std::move(axis));
  }
  return out;
}

struct Grid {
  Axis down, across;
  int first_tap = 0;                    // among all packed taps
  std::vector<std::int64_t> offsets{};  // of its taps in the strip, in numbers
};

struct Image {
  std::int64_t h = 0, w = 0, channels = 0;
};

class TileConv final : public Kernel {
 public:
  TileConv(const ConvCall& call, int threads) : call_(call), threads_(threads) {
    const ConvGeometry& g = call.g;
    const bool forward = call.pass == ConvPass::forward;
    source_ = forward ? Image{g.h, g.w, g.c} : Image{g.oh, g.ow, g.o};
    result_ = forward ? Image{g.oh, g.ow, g.o} : Image{g.h, g.w, g.c};
    // Taps side by side on the image are treated as one with more channels.
    joined_ = forward && g.dilations.width == 1;
    depth_ = joined_ ? g.kw * g.c : source_.channels;
    std::vector<Axis> down, across;
    if (forward) {
      down = {forward_axis(g.oh, g.kh, g.strides.height, g.dilations.height, g.pads.top)};
      across = {forward_axis(g.ow, g.kw, g.strides.width, g.dilations.width, g.pads.left)};
    } else {
      down = backward_axes(g.h, g.kh, g.strides.height, g.dilations.height, g.pads.top);
      across = backward_axes(g.w, g.kw, g.strides.width, g.dilations.width, g.pads.left);
    }
    left_ = 0;
    std::int64_t right = source_.w - 1;
    for (const Axis& axis : across) {
      left_ = std::min(left_, axis.lowest(0));
      right = std::max(right, axis.highest(axis.size));
    }
    pitch_ = right - left_ + 1;
    for (const Axis& y : down)
      for (const Axis& x : across) add_grid(y, x);
    choose_strips();
  }

  std::size_t scratch_bytes() const override {
    return weight_bytes() + strip_bytes() * static_cast<std::size_t>(threads_);
  }
  std::string describe() const override { return "own:amx_bf16"; }

  void bind(const Buffers& b) override {
    from_ = b.in<float>(call_.pass == ConvPass::forward ? 0 : call_.dy);
    filter_ = b.in<float>(1);
    bias_ = call_.bias ? b.in<float>(2) : nullptr;
    y_ = b.out<float>();
    weights_ = static_cast<std::uint16_t*>(b.scratch);
    strips_ = static_cast<std::byte*>(b.scratch) + weight_bytes();
  }

  void run(const Step&) override {
    const std::int64_t blocks = tiles::whole_blocks(result_.channels) / tiles::kBlock;
    parallel_for(static_cast<std::int64_t>(filters_.size()) * blocks, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) pack_weights(i / blocks, i % blocks);
    });
    for_each_share(call_.g.n * strips_an_image_, 1, strips_, strip_bytes(),
                   [&](std::int64_t begin, std::int64_t end, void* strip) {
                     for (std::int64_t i = begin; i < end; ++i)
                       convolve(i / strips_an_image_, i % strips_an_image_, static_cast<std::uint16_t*>(strip));
                   });
  }

 private:
  // A strip's share of the axis's positions.
  std::int64_t strip_begin(const Axis& axis, std::int64_t strip) const { return axis.size * strip / strips_an_image_; }

  void add_grid(const Axis& down, const Axis& across) {
    Grid grid{.down = down, .across = across, .first_tap = static_cast<int>(filters_.size())};
    const std::int64_t tap_size = call_.g.c * call_.g.o;
    for (std::size_t i = 0; i < down.taps.size(); ++i)
      for (std::size_t j = 0; j < (joined_ ? 1 : across.taps.size()); ++j) {
        grid.offsets.push_back((down.shifts[i] * pitch_ + across.shifts[j]) * source_.channels);
        filters_.push_back((down.taps[i] * call_.g.kw + across.taps[j]) * tap_size);
      }
    grids_.push_back(std::move(grid));
  }

  // Strips whose pixels stay in the second-level cache, and enough of them for the threads.
  void choose_strips() {
    constexpr std::int64_t kMost = 3 << 18;
    const std::int64_t bytes = source_.h * pitch_ * source_.channels * 2;
    const std::int64_t wanted = std::max((bytes + kMost - 1) / kMost, (threads_ + call_.g.n - 1) / call_.g.n);
    strips_an_image_ = std::clamp<std::int64_t>(wanted, 1, grids_[0].down.size);
    for (std::int64_t strip = 0; strip < strips_an_image_; ++strip) {
      const auto [top, bottom] = rows_of(strip);
      strip_rows_ = std::max(strip_rows_, bottom - top);
    }
  }

  std::pair<std::int64_t, std::int64_t> rows_of(std::int64_t strip) const {
    std::int64_t top = source_.h, bottom = 0;
    for (const Grid& grid : grids_) {
      const std::int64_t begin = strip_begin(grid.down, strip), end = strip_begin(grid.down, strip + 1);
      if (begin == end) continue;
      top = std::min(top, grid.down.lowest(begin));
      bottom = std::max(bottom, grid.down.highest(end) + 1);
    }
    return {top, std::max(top, bottom)};
  }

  std::int64_t packed_tap() const { return tiles::whole_blocks(result_.channels) * tiles::whole_depth(depth_); }
  std::size_t weight_bytes() const { return filters_.size() * static_cast<std::size_t>(packed_tap()) * 2; }
  // Tiles read whole blocks of positions, although nothing after the last one is used.
  std::size_t strip_bytes() const {
    const std::int64_t behind = tiles::kBlock * grids_[0].across.step * source_.channels + depth_ + 2 * tiles::kDepth;
    return cache_lines(static_cast<std::size_t>(strip_rows_ * pitch_ * source_.channels + behind) * 2);
  }

  void pack_weights(std::int64_t tap, std::int64_t block) const {
    const bool forward = call_.pass == ConvPass::forward;
    const std::int64_t line = block * tiles::kBlock;
    const float* from = filter_ + filters_[static_cast<std::size_t>(tap)];
    tiles::pack_right({.from = from + line * (forward ? 1 : call_.g.o),
                       .lines = std::min<std::int64_t>(tiles::kBlock, result_.channels - line),
                       .k = depth_,
                       .stride = call_.g.o,
                       .by_depth = forward,
                       .to = weights_ + tap * packed_tap() + line * tiles::whole_depth(depth_)});
  }

  void convolve(std::int64_t image, std::int64_t strip, std::uint16_t* pixels) const {
    const std::int64_t top = round_rows(image, strip, pixels);
    for (const Grid& grid : grids_) {
      const Axis &down = grid.down, &across = grid.across;
      const std::int64_t begin = strip_begin(down, strip), lines = strip_begin(down, strip + 1) - begin;
      if (lines == 0) continue;
      const std::int64_t row = down.first + begin * down.step - top, column = across.first - left_;
      const std::int64_t out_row = down.out_first + begin * down.out_step;
      tiles::TapSum sum{.lines = lines,
                        .count = across.size,
                        .pitch = across.size,
                        .width = across.size,
                        .a = pixels + (row * pitch_ + column) * source_.channels,
                        .a_line = down.step * pitch_ * source_.channels,
                        .a_stride = across.step * source_.channels,
                        .taps = static_cast<int>(grid.offsets.size()),
                        .offsets = grid.offsets.data(),
                        .b = weights_ + grid.first_tap * packed_tap(),
                        .k = depth_,
                        .n = result_.channels,
                        .y = y_ + ((image * result_.h + out_row) * result_.w + across.out_first) * result_.channels,
                        .y_line = down.out_step * result_.w * result_.channels,
                        .y_stride = across.out_step * result_.channels,
                        .bias = bias_,
                        .relu = call_.relu,
                        .alpha = call_.alpha};
      // All lines as one, if that takes fewer tiles.
      const auto tiles_for = [](std::int64_t n) { return (n + tiles::kRows - 1) / tiles::kRows; };
      const std::int64_t whole = (lines - 1) * pitch_ + across.size;
      if (down.step == 1 && across.step == 1 && tiles_for(whole) < lines * tiles_for(across.size)) {
        sum.lines = 1;
        sum.count = whole;
        sum.pitch = pitch_;
      }
      tiles::sum_taps(sum);
    }
  }

  // The strip's rows of an image, with zeros around it; returns the first row.
  std::int64_t round_rows(std::int64_t image, std::int64_t strip, std::uint16_t* to) const {
    const auto [top, bottom] = rows_of(strip);
    const std::int64_t row = source_.w * source_.channels, before = -left_ * source_.channels,
                       whole = pitch_ * source_.channels;
    for (std::int64_t y = top; y < bottom; ++y, to += whole) {
      if (y < 0 || y >= source_.h) {
        std::fill_n(to, whole, std::uint16_t{0});
        continue;
      }
      std::fill_n(to, before, std::uint16_t{0});
      tiles::convert(from_ + (image * source_.h + y) * row, row, to + before);
      std::fill(to + before + row, to + whole, std::uint16_t{0});
    }
    std::fill_n(to, depth_ + 2 * tiles::kDepth, std::uint16_t{0});  // no NaN after the last pixel
    return top;
  }

  ConvCall call_;
  int threads_;
  Image source_, result_;
  bool joined_ = false;
  std::int64_t depth_ = 0, left_ = 0, pitch_ = 0, strips_an_image_ = 1, strip_rows_ = 0;
  std::vector<Grid> grids_;
  std::vector<std::int64_t> filters_;  // by packed tap: where its weights begin
  const float *from_ = nullptr, *filter_ = nullptr, *bias_ = nullptr;
  float* y_ = nullptr;
  std::uint16_t* weights_ = nullptr;
  std::byte* strips_ = nullptr;
};

}  // namespace

bool tiles_can_convolve(const ConvCall& call) {
  return bf16_support().tiles && call.g.groups == 1 && call.g.channels_last;
}

KernelPtr make_tile_conv(const ConvCall& call, int threads) {
  if (call.pass == ConvPass::backward_filter) return make_tile_conv_filter(call, threads);
  return std::make_unique<TileConv>(call, threads);
}

}  // namespace belfry
