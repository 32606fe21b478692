// y[m, n] = a[m, k] b[k, n]. f32: oneDNN, with bias and ReLU fused ("FusedMatMul"). f64, and products with an empty
// dimension: tile by tile, tiles of both factors first copied side by side, transposed if needed. A batch times one
// matrix is one product of all its rows; other batches are batched_matmul.cc's.
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>

#include "belfry/engine/cpu/dnnl/dnnl_kernel.h"
#include "belfry/engine/cpu/kernel/bf16_support.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/kernel/view.h"
#include "belfry/engine/cpu/matmul/batched_matmul.h"
#include "belfry/engine/cpu/matmul/split_matmul.h"
#include "belfry/engine/cpu/matmul/tile_matmul.h"
#include "belfry/engine/flops.h"

namespace belfry {
namespace {

constexpr std::int64_t kTile = 64;

// A matrix in memory, seen as its user needs it.
template <class T>
struct MatrixView {
  const T* data;
  std::int64_t row_stride, column_stride;
};

// tile[i][j] = view(row + i, column + j)
template <class T>
void pack(const MatrixView<T>& view, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
          T (*tile)[kTile]) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      tile[i][j] = view.data[(row + i) * view.row_stride + (column + j) * view.column_stride];
}

template <class T>
void multiply_tile(const MatMulShape& s, const MatrixView<T>& a, const MatrixView<T>& b, std::int64_t row,
                   std::int64_t column, T* y) {
  alignas(64) T left[kTile][kTile], right[kTile][kTile], sum[kTile][kTile] = {};
  const std::int64_t rows = std::min(kTile, s.m - row), columns = std::min(kTile, s.n - column);
  for (std::int64_t k = 0; k < s.k; k += kTile) {
    const std::int64_t depth = std::min(kTile, s.k - k);
    pack(a, row, rows, k, depth, left);
    pack(b, k, depth, column, columns, right);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t p = 0; p < depth; ++p)
        for (std::int64_t j = 0; j < columns; ++j) sum[i][j] += left[i][p] * right[p][j];
  }
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(sum[i], columns, y + (row + i) * s.n + column);
}

MatMulShape shape_of(const KernelContext& c) {
  const bool ta = c.attributes->flag("transpose_a");
  const Shape& y = c.output().shape;
  return {y.slice(0, y.rank() - 1).elements(), y[-1], c.input(0).shape[ta ? -2 : -1], ta,
          c.attributes->flag("transpose_b")};
}

// Whether it is one product of two matrices.
bool is_single(const KernelContext& c) {
  const Shape &a = c.input(0).shape, &b = c.input(1).shape;
  const auto matrices = [](const Shape& s) { return s.slice(0, s.rank() - 2).elements(); };
  return matrices(b) == 1 && (matrices(a) == 1 || !c.attributes->flag("transpose_a"));
}

// A row-major matrix, or the transpose of one.
constexpr std::string_view kByRows = "rows", kByDepth = "depth", kWithTeam = "team", kOneThread = "one_thread";

std::string_view name_of(MatMulSplit split) { return split == MatMulSplit::rows ? kByRows : kByDepth; }

// A fixed rule by shape and thread count.
std::string_view rule_for(const MatMulShape& s, int threads) {
  if (const MatMulSplit split = choose_split(s, threads); split != MatMulSplit::none) return name_of(split);
  // A product this small is done before a second thread has woken up.
  return 2 * s.m * s.n * s.k < 2'000'000 ? kOneThread : kWithTeam;
}

// The same with and without bias and ReLU.
Algorithms algorithms_of(const KernelContext& c) {
  const MatMulShape s = shape_of(c);
  Algorithms out{.problem = fmt::format("matmul {}x{}x{}{}{} f32", s.m, s.n, s.k, s.transpose_a ? " transpose_a" : "",
                                        s.transpose_b ? " transpose_b" : "")};
  if (takes_tiles(c) || c.threads < 2 || c.output().dtype != f32 || s.m * s.n * s.k == 0 || !is_single(c)) return out;
  out.names = {std::string(kOneThread), std::string(kWithTeam)};
  if (const MatMulSplit split = possible_split(s, c.threads); split != MatMulSplit::none)
    out.names.emplace_back(name_of(split));
  const auto rule = std::ranges::find(out.names, rule_for(s, c.threads));  // comes first
  std::rotate(out.names.begin(), rule, rule == out.names.end() ? rule : rule + 1);
  return out;
}

// Inputs a, b and, if `fused`, a bias [n]; attributes "relu" and kAlgorithm.
KernelPtr make_dnnl(const KernelContext& c, bool fused) {
  const MatMulShape s = shape_of(c);
  if (takes_tiles(c)) return make_tile_matmul(s, c.threads, {.bias = fused, .relu = c.attributes->flag("relu")});
  const std::string how = c.attributes->get_or(kAlgorithm, std::string(rule_for(s, c.threads)));
  for (MatMulSplit split : {MatMulSplit::rows, MatMulSplit::depth})
    if (how == name_of(split))
      return make_split_matmul(s, split, c.threads, {.bias = fused, .relu = c.attributes->flag("relu")});
  const dnnl_memory_desc_t a = dnnl_matrix(s.m, s.k, c.attributes->flag("transpose_a")),
                           b = dnnl_matrix(s.k, s.n, c.attributes->flag("transpose_b"));
  const dnnl_memory_desc_t bias = dnnl_matrix(1, s.n, false), y = dnnl_matrix(s.m, s.n, false);
  dnnl_matmul_desc_t desc;
  dnnl_check(dnnl_matmul_desc_init(&desc, &a, &b, fused ? &bias : nullptr, &y), "matmul");
  DnnlAttributes attributes;
  if (c.attributes->flag("relu")) attributes.append_relu();
  const int threads = how == kOneThread ? 1 : c.threads;
  std::vector<DnnlArgument> arguments{{.arg = DNNL_ARG_SRC, .input = 0, .descriptor = a},
                                      {.arg = DNNL_ARG_WEIGHTS, .input = 1, .descriptor = b}};
  if (fused) arguments.push_back({.arg = DNNL_ARG_BIAS, .input = 2, .descriptor = bias});
  arguments.push_back({.arg = DNNL_ARG_DST, .output = 0, .descriptor = y});
  return dnnl_kernel([&] { return make_descriptor(&desc, attributes, nullptr); }, std::move(arguments), threads);
}

KernelPtr make_naive(const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    const bool ta = c.attributes->flag("transpose_a"), tb = c.attributes->flag("transpose_b");
    return simple_kernel([s = shape_of(c), ta, tb](const Buffers& buffers, const Step&) {
      const MatrixView<T> a{buffers.in<T>(0), ta ? 1 : s.k, ta ? s.m : 1};
      const MatrixView<T> b{buffers.in<T>(1), tb ? 1 : s.n, tb ? s.k : 1};
      T* y = buffers.out<T>();
      const std::int64_t down = (s.m + kTile - 1) / kTile, across = (s.n + kTile - 1) / kTile;
      parallel_for(down * across, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) multiply_tile(s, a, b, i / across * kTile, i % across * kTile, y);
      });
    });
  });
}

bool has_tiles(const KernelContext&) { return bf16_support().tiles; }

const KernelRegistration matmul_kernel =
    define_kernel("MatMul")
        .flops(matmul_flops)
        .multiplies({0, 1}, has_tiles)
        .algorithms(algorithms_of)
        .make([](const KernelContext& c) {
          if (!is_single(c)) return make_batched_matmul(c);
          const MatMulShape s = shape_of(c);
          return c.output().dtype == f32 && s.m * s.n * s.k > 0 ? make_dnnl(c, false) : make_naive(c);
        });
const KernelRegistration fused_kernel =
    define_kernel("FusedMatMul").flops(matmul_flops).algorithms(algorithms_of).make([](const KernelContext& c) {
      return make_dnnl(c, true);
    });
const KernelRegistration flatten_rows_kernel = define_view_kernel("FlattenRows");

}  // namespace
}  // namespace belfry
