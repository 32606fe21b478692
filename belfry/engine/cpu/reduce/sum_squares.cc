#include <algorithm>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/reduce/reduce_team.h"

namespace belfry {
namespace {

constexpr std::int64_t kPiece = 1 << 14;  // elements summed by one thread: a fixed size, so that the bits are fixed

double squares_of(const float* x, std::int64_t n) {
  return by_isa(cpu_isa(), avx2::kReduce, avx512::kReduce).range(ReduceOp::sum_squares, x, n);
}
double squares_of(const double* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

// x [n] -> sum, via one partial sum per piece
template <class T>
void sum_squares(const T* x, std::int64_t n, double* partial, T* sum) {
  const std::int64_t pieces = (n + kPiece - 1) / kPiece;
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      partial[p] = squares_of(x + p * kPiece, std::min(kPiece, n - p * kPiece));
  });
  double total = 0;
  for (std::int64_t p = 0; p < pieces; ++p) total += partial[p];
  *sum = static_cast<T>(total);
}

// Padding is zero and adds nothing: x is read in memory order, in any layout.
const KernelRegistration sum_squares_kernel =
    define_kernel("SumSquares")
        .layout_rule([](const KernelContext& c) { return LayoutChoice{{c.input(0).layout}, {Layout{}}}; })
        .follows_inputs()
        .make([](const KernelContext& c) {
          return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
            const auto n = static_cast<std::int64_t>(c.input(0).bytes() / sizeof(T));
            const auto pieces = static_cast<std::size_t>((n + kPiece - 1) / kPiece);
            return simple_kernel(
                [n](const Buffers& b, const Step&) {
                  sum_squares(b.in<T>(0), n, static_cast<double*>(b.scratch), b.out<T>());
                },
                pieces * sizeof(double));
          });
        });

}  // namespace
}  // namespace belfry
