// A resized image is R x C' for matrices R and C with one or two entries per row; its gradient uses their transposes.
// Both use the same loop over the entries that make a pixel, in any layout with channels.
#include <algorithm>
#include <cmath>
#include <vector>

#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/lanes/channel_layout.h"
#include "belfry/engine/cpu/pool/pool_view.h"
#include "belfry/engine/cpu/pool/weighted_rows_simd.h"

namespace belfry {
namespace {

// A sparse matrix by rows: row i has the entries from start[i] to start[i + 1].
struct Taps {
  struct Entry {
    std::int64_t column;
    double weight;
  };
  std::vector<std::size_t> start{0};
  std::vector<Entry> entries;

  std::int64_t rows() const { return static_cast<std::int64_t>(start.size()) - 1; }
  const Entry* begin(std::int64_t row) const { return entries.data() + start[static_cast<std::size_t>(row)]; }
  const Entry* end(std::int64_t row) const { return entries.data() + start[static_cast<std::size_t>(row) + 1]; }
  void add(std::int64_t column, double weight) {
    if (weight != 0) entries.push_back({column, weight});
  }
  void end_row() { start.push_back(entries.size()); }

  Taps transposed(std::int64_t columns) const {
    Taps out;
    for (std::int64_t k = 0; k < columns; ++k) {
      for (std::int64_t row = 0; row < rows(); ++row)
        for (const Entry* e = begin(row); e != end(row); ++e)
          if (e->column == k) out.add(row, e->weight);
      out.end_row();
    }
    return out;
  }
};

struct Sampling {
  bool bilinear, align_corners, half_pixel;
};

Taps taps_of(std::int64_t from, std::int64_t to, const Sampling& s) {
  Taps out;
  const double scale = s.align_corners && to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1)
                                                 : static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = static_cast<double>(i) + (s.half_pixel ? 0.5 : 0);
    if (s.bilinear) {
      const double place = centre * scale - (s.half_pixel ? 0.5 : 0), below = std::floor(place);
      const auto first = static_cast<std::int64_t>(below);
      const double weight = place - below;
      out.add(std::clamp<std::int64_t>(first, 0, from - 1), 1 - weight);
      out.add(std::clamp<std::int64_t>(first + 1, 0, from - 1), weight);
    } else {
      const double place = centre * scale;
      out.add(std::min(static_cast<std::int64_t>(s.align_corners ? std::round(place) : std::floor(place)), from - 1),
              1);
    }
    out.end_row();
  }
  return out;
}

// y [planes, rows of R, rows of C, inner] from x [planes, columns of R, columns of C, inner]
struct Resampling {
  Taps vertical, horizontal;
  std::int64_t planes = 0, inner = 0, height = 0, width = 0;  // of x

  template <class T>
  void run(const T* x, T* y) const {
    const std::int64_t rows = vertical.rows(), columns = horizontal.rows();
    const std::int64_t work = std::max<std::int64_t>(columns * inner * 2, 1);
    parallel_for(
        planes * rows, std::max<std::int64_t>(kPointwiseGrain / work, 1), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i)
            for (std::int64_t column = 0; column < columns; ++column)
              pixel(x + i / rows * height * width * inner, i % rows, column, y + (i * columns + column) * inner);
        });
  }

  template <class T>
  void pixel(const T* image, std::int64_t row, std::int64_t column, T* y) const {
    const auto for_each_tap = [&](const auto& take) {
      for (const Taps::Entry* v = vertical.begin(row); v != vertical.end(row); ++v)
        for (const Taps::Entry* h = horizontal.begin(column); h != horizontal.end(column); ++h)
          take(image + (v->column * width + h->column) * inner, static_cast<T>(v->weight * h->weight));
    };
    if constexpr (std::is_same_v<T, float>) {
      simd::WeightedRow taps[kMostTaps];
      int count = 0;
      bool add = false;
      for_each_tap([&](const float* x, float weight) {
        taps[count++] = {x, weight};
        if (count < kMostTaps) return;
        vectors->sum(taps, count, inner, add, y);
        count = 0;
        add = true;
      });
      if (count > 0 || !add) vectors->sum(taps, count, inner, add, y);
    } else {
      std::fill_n(y, inner, T(0));
      for_each_tap([&](const T* x, T weight) {
        for (std::int64_t k = 0; k < inner; ++k) y[k] += weight * x[k];
      });
    }
  }

  static constexpr int kMostTaps = 32;  // added up at once
  const simd::WeightedRowsKernels* vectors = &by_isa(cpu_isa(), avx2::kWeightedRows, avx512::kWeightedRows);
};

// `source` is the input to read; `images` and `result` correspond to the forward op's x and y.
KernelPtr make_resize(const KernelContext& c, int source, const TensorInfo& images, const TensorInfo& result,
                      bool bilinear) {
  if (c.output().elements() == 0) return simple_kernel([](const Buffers&, const Step&) {});
  const Attributes& a = *c.attributes;
  const bool last = a.get<std::string>("data_format") == "NHWC";
  const int first = last ? 1 : 2;
  const Sampling sampling{bilinear, a.flag("align_corners"), a.flag("half_pixel_centers")};
  const bool transposed = source == 1;
  Resampling r;
  const ActivationView view = activation_view(images, last ? 3 : 1);
  r.planes = view.outer * view.groups;
  r.inner = view.inner;
  const auto taps = [&](int axis) {
    const Taps forward = taps_of(images.shape[axis], result.shape[axis], sampling);
    return transposed ? forward.transposed(images.shape[axis]) : forward;
  };
  r.vertical = taps(first);
  r.horizontal = taps(first + 1);
  const Shape& read = transposed ? result.shape : images.shape;
  r.height = read[first];
  r.width = read[first + 1];
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([source, r](const Buffers& b, const Step&) { r.run(b.in<T>(source), b.out<T>()); });
  });
}

// The gradient reads dy, input 1; of x it uses only the shape.
KernelRegistration define_resize_kernel(const char* op, int source, bool bilinear) {
  return define_kernel(op)
      .layout_rule([source](const KernelContext& c) {
        LayoutChoice choice{std::vector<Layout>(c.inputs.size()), {Layout()}, {}};
        if (c.output().dtype != DType::f32) return choice;
        const Layout layout = pool_layout(c.input(source), *c.attributes);
        choice.inputs[static_cast<std::size_t>(source)] = layout;
        choice.outputs[0] = pool_layout_like(layout, c.output(), *c.attributes);
        return choice;
      })
      .follows_inputs()
      .make([source, bilinear](const KernelContext& c) {
        return source == 0 ? make_resize(c, 0, c.input(0), c.output(), bilinear)
                           : make_resize(c, 1, c.output(), c.input(1), bilinear);
      });
}

const KernelRegistration nearest_kernel = define_resize_kernel("ResizeNearest", 0, false);
const KernelRegistration nearest_grad_kernel = define_resize_kernel("ResizeNearestGrad", 1, false);
const KernelRegistration bilinear_kernel = define_resize_kernel("ResizeBilinear", 0, true);
const KernelRegistration bilinear_grad_kernel = define_resize_kernel("ResizeBilinearGrad", 1, true);

}  // namespace
}  // namespace belfry
