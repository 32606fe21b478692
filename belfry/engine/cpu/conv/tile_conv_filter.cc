// The filter's gradient: dw[tap][c][o] = sum over images and positions of x(position + tap, c) * dy(position, o). The
// pixels of x that a stride lets meet the same taps become planes in which a tap is a shift, channels first; dy is
// spread over positions of the same pitch, zeros where there is none. Small filters: threads share the images, and
// their sums are added in order. Large ones: threads share the filter's channels.
#include <algorithm>

#include "belfry/engine/cpu/conv/conv_tiles.h"
#include "belfry/engine/cpu/conv/tile_conv.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/lanes/shares.h"
#include "belfry/engine/cpu/matmul/gemm_tiles.h"

namespace belfry {
namespace {

constexpr std::int64_t kStep = tiles::kDepth;

struct Span {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

struct Tap {
  std::int64_t weights = 0;  // where its [c][o] begins
  std::int64_t plane = 0, shift = 0;
};

class TileConvFilter final : public Kernel {
 public:
  TileConvFilter(const ConvCall& call, int threads)
      : g_(call.g),
        dy_input_(call.dy),
        threads_(threads),
        by_images_(g_.kh * g_.kw * g_.c * g_.o <= 1 << 17),
        plane_rows_(g_.oh + (g_.kh - 1) * g_.dilations.height / g_.strides.height),
        pitch_(g_.ow + (g_.kw - 1) * g_.dilations.width / g_.strides.width),
        plane_(tiles::whole_depth(plane_rows_ * pitch_)),
        steps_(tiles::whole_depth(g_.oh * pitch_) / kStep),
        behind_(tiles::whole_depth(pitch_ - g_.ow) + 2 * kStep) {
    for (std::int64_t ky = 0; ky < g_.kh; ++ky)
      for (std::int64_t kx = 0; kx < g_.kw; ++kx) add_tap(ky, kx);
    constexpr std::int64_t kMost = 1 << 19;  // numbers that stay in the second-level cache
    images_ = std::clamp<std::int64_t>(kMost / image_numbers(), 1, g_.n);
    row_ = images_ * static_cast<std::int64_t>(phases_.size()) * plane_ + behind_;
    if (row_ / kStep % 2 == 0) row_ += kStep;  // lines of a tile must not evict each other from the cache
  }

  std::size_t scratch_bytes() const override {
    return (share_bytes() + partial_bytes()) * static_cast<std::size_t>(threads_);
  }
  std::string describe() const override { return "own:amx_bf16"; }

  void bind(const Buffers& b) override {
    x_ = b.in<float>(0);
    dy_ = b.in<float>(dy_input_);
    dw_ = b.out<float>();
    shares_ = static_cast<std::byte*>(b.scratch);
    partials_ = reinterpret_cast<float*>(shares_ + share_bytes() * static_cast<std::size_t>(threads_));
  }

  void run(const Step&) override {
    const bool by_inputs = g_.c >= g_.o;
    const std::int64_t most = by_images_ ? g_.n : tiles::whole_blocks(by_inputs ? g_.c : g_.o) / tiles::kBlock;
    const int parts = static_cast<int>(std::min<std::int64_t>(most, team_size()));
    parallel_parts(parts, [&](int first, int stride) {
      for (int part = first; part < parts; part += stride) {
        const Span share{most * part / parts, most * (part + 1) / parts};
        const Span all_c{0, g_.c}, all_o{0, g_.o};
        if (by_images_)
          sum(part, share, all_c, all_o, part == 0 ? dw_ : partials_ + part * partial_floats());
        else
          sum(part, {0, g_.n}, by_inputs ? channels(share, g_.c) : all_c, by_inputs ? all_o : channels(share, g_.o),
              dw_);
      }
    });
    if (by_images_ && parts > 1) add_partials(parts);
  }

 private:
  struct Phase {
    std::int64_t y = 0, x = 0;
    bool operator==(const Phase&) const = default;
  };

  void add_tap(std::int64_t ky, std::int64_t kx) {
    const std::int64_t y = ky * g_.dilations.height, x = kx * g_.dilations.width;
    const Phase phase{y % g_.strides.height, x % g_.strides.width};
    auto at = std::ranges::find(phases_, phase);
    if (at == phases_.end()) at = phases_.insert(at, phase);
    taps_.push_back({.weights = (ky * g_.kw + kx) * g_.c * g_.o,
                     .plane = at - phases_.begin(),
                     .shift = y / g_.strides.height * pitch_ + x / g_.strides.width});
  }

  static Span channels(const Span& blocks, std::int64_t most) {
    return {blocks.begin * tiles::kBlock, std::min(blocks.end * tiles::kBlock, most)};
  }

  std::int64_t whole_tiles(std::int64_t n) const { return (n + tiles::kRows - 1) / tiles::kRows * tiles::kRows; }
  std::int64_t image_numbers() const {
    return whole_tiles(g_.c) * static_cast<std::int64_t>(phases_.size()) * plane_ +
           tiles::whole_blocks(g_.o) * steps_ * kStep;
  }
  std::size_t left_bytes() const { return cache_lines(static_cast<std::size_t>(whole_tiles(g_.c) * row_) * 2); }
  std::size_t share_bytes() const {
    return left_bytes() +
           cache_lines(static_cast<std::size_t>(tiles::whole_blocks(g_.o) * images_ * steps_ * kStep) * 2);
  }
  std::int64_t partial_floats() const { return by_images_ ? (g_.kh * g_.kw * g_.c * g_.o + 15) / 16 * 16 : 0; }
  std::size_t partial_bytes() const { return static_cast<std::size_t>(partial_floats()) * sizeof(float); }

  void sum(int part, const Span& images, const Span& c, const Span& o, float* dw) const {
    std::byte* own = shares_ + share_bytes() * static_cast<std::size_t>(part);
    auto* left = reinterpret_cast<std::uint16_t*>(own);
    auto* right = reinterpret_cast<std::uint16_t*>(own + left_bytes());
    for (std::int64_t first = images.begin; first < images.end; first += images_) {
      const std::int64_t count = std::min(images_, images.end - first);
      for (std::int64_t i = 0; i < count; ++i) {
        pack_planes(first + i, c, left + i * static_cast<std::int64_t>(phases_.size()) * plane_);
        pack_results(first + i, o, right + i * steps_ * 2 * tiles::kTile, count);
      }
      clear_ends(c, count, left);
      for (const Tap& tap : taps_)
        tiles::sum_pixels({.m = c.size(),
                           .n = o.size(),
                           .images = count,
                           .steps = steps_,
                           .a = left + tap.plane * plane_ + tap.shift,
                           .a_row = row_,
                           .a_image = static_cast<std::int64_t>(phases_.size()) * plane_,
                           .b = right,
                           .y = dw + tap.weights + c.begin * g_.o + o.begin,
                           .y_row = g_.o,
                           .add = first > images.begin});
    }
  }

  // What is read after the last plane is multiplied by zeros of dy, but must not be NaN.
  void clear_ends(const Span& c, std::int64_t count, std::uint16_t* left) const {
    const std::int64_t end = count * static_cast<std::int64_t>(phases_.size()) * plane_;
    for (std::int64_t i = 0; i < whole_tiles(c.size()); ++i)
      std::fill_n(left + i * row_ + end, behind_, std::uint16_t{0});
  }

  void pack_planes(std::int64_t image, const Span& c, std::uint16_t* to) const {
    for (const Phase& phase : phases_) {
      for (std::int64_t at = 0; at < plane_; at += kStep) {
        tiles::Pixel pixels[kStep];
        for (std::int64_t i = 0; i < kStep; ++i) {
          const std::int64_t y = (at + i) / pitch_ * g_.strides.height + phase.y - g_.pads.top,
                             x = (at + i) % pitch_ * g_.strides.width + phase.x - g_.pads.left;
          const bool inside = y >= 0 && y < g_.h && x >= 0 && x < g_.w;
          pixels[i] = inside ? x_ + ((image * g_.h + y) * g_.w + x) * g_.c + c.begin : nullptr;
        }
        tiles::pack_channels(pixels, c.size(), to + at, row_);
      }
      to += plane_;
    }
  }

  void pack_results(std::int64_t image, const Span& o, std::uint16_t* to, std::int64_t images) const {
    for (std::int64_t step = 0; step < steps_; ++step, to += 2 * tiles::kTile) {
      tiles::Pixel pixels[kStep];
      for (std::int64_t i = 0; i < kStep; ++i) {
        const std::int64_t y = (step * kStep + i) / pitch_, x = (step * kStep + i) % pitch_;
        pixels[i] = y < g_.oh && x < g_.ow ? dy_ + ((image * g_.oh + y) * g_.ow + x) * g_.o + o.begin : nullptr;
      }
      tiles::pack_pairs(pixels, o.size(), to, images * steps_ * 2 * tiles::kTile);
    }
  }

  void add_partials(int parts) const {
    parallel_for(g_.kh * g_.kw * g_.c * g_.o, 1 << 13, [&](std::int64_t begin, std::int64_t end) {
      for (int part = 1; part < parts; ++part) {
        const float* from = partials_ + part * partial_floats();
        for (std::int64_t i = begin; i < end; ++i) dw_[i] += from[i];
      }
    });
  }

  ConvGeometry g_;
  int dy_input_, threads_;
  bool by_images_;
  std::int64_t plane_rows_, pitch_, plane_, steps_;
  std::int64_t behind_;        // numbers that may be read after the last plane
  std::vector<Phase> phases_;  // of x, those that taps read
  std::vector<Tap> taps_;
  std::int64_t images_ = 1, row_ = 0;  // images packed at a time; numbers from one channel to the next
  const float *x_ = nullptr, *dy_ = nullptr;
  float* dw_ = nullptr;
  std::byte* shares_ = nullptr;
  float* partials_ = nullptr;
};

}  // namespace

KernelPtr make_tile_conv_filter(const ConvCall& call, int threads) {
  return std::make_unique<TileConvFilter>(call, threads);
}

}  // namespace belfry
