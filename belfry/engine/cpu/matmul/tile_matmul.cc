#include "belfry/engine/cpu/matmul/tile_matmul.h"

#include <algorithm>

#include "belfry/engine/cpu/lanes/shares.h"
#include "belfry/engine/cpu/matmul/bf16_gemm.h"

namespace belfry {
namespace {

class TileMatMul final : public Kernel {
 public:
  TileMatMul(const MatMulShape& s, int threads, MatMulEpilogue epilogue)
      : epilogue_(epilogue),
        by_rows_(s.m >= s.n),
        // A product this small is done before a second thread has woken up.
        grain_(8'000'000 / std::max<std::int64_t>(1, 2 * s.k * (by_rows_ ? s.n : s.m)) + 1),
        share_bytes_(bf16_gemm_scratch_bytes(s.m, s.n, s.k)),
        threads_(threads),
        product_{.m = s.m,
                 .n = s.n,
                 .k = s.k,
                 .a = {.row = s.transpose_a ? s.m : s.k, .transposed = s.transpose_a},
                 .b = {.row = s.transpose_b ? s.k : s.n, .transposed = s.transpose_b},
                 .y_row = s.n} {}

  std::size_t scratch_bytes() const override { return share_bytes_ * static_cast<std::size_t>(threads_); }
  std::string describe() const override { return "own:amx_bf16"; }

  void bind(const Buffers& b) override {
    product_.a.data = b.in<float>(0);
    product_.b.data = b.in<float>(1);
    product_.y = b.out<float>();
    if (epilogue_.bias) product_.start = b.in<float>(2);
    scratch_ = b.scratch;
  }

  void run(const Step&) override {
    for_each_share(by_rows_ ? product_.m : product_.n, grain_, scratch_, share_bytes_,
                   [this](std::int64_t begin, std::int64_t end, void* scratch) {
                     bf16_gemm(by_rows_ ? rows(begin, end) : columns(begin, end), epilogue_.relu, scratch);
                   });
  }

 private:
  GemmProduct rows(std::int64_t begin, std::int64_t end) const {
    GemmProduct part = product_;
    part.m = end - begin;
    part.a.data += part.a.transposed ? begin : begin * part.a.row;
    part.y += begin * part.y_row;
    return part;
  }
  GemmProduct columns(std::int64_t begin, std::int64_t end) const {
    GemmProduct part = product_;
    part.n = end - begin;
    part.b.data += part.b.transposed ? begin * part.b.row : begin;
    part.y += begin;
    if (part.start != nullptr) part.start += begin;
    return part;
  }

  MatMulEpilogue epilogue_;
  bool by_rows_;
  std::int64_t grain_;
  std::size_t share_bytes_;
  int threads_;
  GemmProduct product_;
  void* scratch_ = nullptr;
};

}  // namespace

KernelPtr make_tile_matmul(const MatMulShape& shape, int threads, MatMulEpilogue epilogue) {
  return std::make_unique<TileMatMul>(shape, threads, epilogue);
}

}  // namespace belfry
