#include "belfry/engine/cpu/matmul/split_matmul.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <utility>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/dnnl/dnnl_kernel.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/pointwise/pointwise_ops.h"
#include "belfry/engine/cpu/pointwise/pointwise_team.h"

namespace belfry {
namespace {

struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

// The same division as parallel_for's, which the optimizer's update uses.
Range part_of(std::int64_t n, int part, int parts) { return {n * part / parts, n * (part + 1) / parts}; }

// Dense and row-major, or the transpose of such a matrix.
struct Part {
  KernelPtr kernel;
  Range columns{};            // of a as stored
  std::int64_t b = 0, y = 0;  // where its operands begin, in elements
  float* packed = nullptr;
  Buffers buffers{};
};

class SplitMatMul final : public Kernel {
 public:
  SplitMatMul(const MatMulShape& s, MatMulSplit split, int threads, MatMulEpilogue epilogue)
      : shape_(s), split_(split), epilogue_(epilogue) {
    for (int p = 0; p < threads; ++p) parts_.push_back(make_part(p, threads));
  }

  std::size_t scratch_bytes() const override {
    std::size_t bytes = partial_bytes() * parts_.size();
    for (const Part& part : parts_) bytes += packed_bytes(part) + cache_lines(part.kernel->scratch_bytes());
    return bytes;
  }

  void bind(const Buffers& b) override {
    char* scratch = static_cast<char*>(b.scratch);
    const auto take = [&](std::size_t bytes) { return std::exchange(scratch, scratch + bytes); };
    a_ = b.in<float>(0);
    y_ = b.out<float>();
    bias_ = epilogue_.bias ? b.in<float>(2) : nullptr;
    partials_.clear();
    for (Part& part : parts_) {
      part.packed = reinterpret_cast<float*>(take(packed_bytes(part)));
      Buffers& own = part.buffers;
      own.inputs = {part.packed, b.in<float>(1) + part.b};
      own.outputs = {y_ + part.y};
      if (split_ == MatMulSplit::depth) {
        partials_.push_back(reinterpret_cast<float*>(take(partial_bytes())));
        own.outputs = {partials_.back()};
      } else if (epilogue_.bias) {
        own.inputs.push_back(bias_);
      }
      own.scratch = take(cache_lines(part.kernel->scratch_bytes()));
      part.kernel->bind(own);
    }
    if (split_ == MatMulSplit::depth) plan_finish();
  }

  void run(const Step& step) override {
    const int count = static_cast<int>(parts_.size());
    parallel_parts(count, [&](int first, int stride) {
      for (int p = first; p < count; p += stride) {
        const Part& part = parts_[static_cast<std::size_t>(p)];
        pack(part);
        part.kernel->run(step);
      }
    });
    if (split_ == MatMulSplit::depth) finish();
  }

  std::string describe() const override {
    return parts_[0].kernel->describe() + (split_ == MatMulSplit::rows ? " by rows" : " by depth");
  }
  bool is_dnnl() const override { return true; }

 private:
  std::size_t partial_bytes() const {
    return split_ == MatMulSplit::depth ? cache_lines(static_cast<std::size_t>(shape_.m * shape_.n) * sizeof(float))
                                        : 0;
  }

  std::int64_t stored_rows() const { return shape_.transpose_a ? shape_.k : shape_.m; }
  std::int64_t stored_columns() const { return shape_.transpose_a ? shape_.m : shape_.k; }
  std::size_t packed_bytes(const Part& part) const {
    return cache_lines(static_cast<std::size_t>(stored_rows() * part.columns.size()) * sizeof(float));
  }

  void pack(const Part& part) const {
    const std::int64_t size = part.columns.size();
    for (std::int64_t row = 0; row < stored_rows(); ++row)
      std::copy_n(a_ + row * stored_columns() + part.columns.begin, size, part.packed + row * size);
  }

  Part make_part(int p, int parts) const {
    const MatMulShape& s = shape_;
    const bool by_rows = split_ == MatMulSplit::rows;
    const Range columns = part_of(stored_columns(), p, parts);
    const std::int64_t m = by_rows ? columns.size() : s.m, k = by_rows ? s.k : columns.size();
    const dnnl_memory_desc_t a = dnnl_matrix(m, k, s.transpose_a), b = dnnl_matrix(k, s.n), y = dnnl_matrix(m, s.n),
                             bias = dnnl_matrix(1, s.n);
    const bool own_bias = by_rows && epilogue_.bias;
    DnnlAttributes attributes;
    if (by_rows && epilogue_.relu) attributes.append_relu();
    dnnl_matmul_desc_t desc;
    dnnl_check(dnnl_matmul_desc_init(&desc, &a, &b, own_bias ? &bias : nullptr, &y), "matmul");
    std::vector<DnnlArgument> arguments{{.arg = DNNL_ARG_SRC, .input = 0, .descriptor = a},
                                        {.arg = DNNL_ARG_WEIGHTS, .input = 1, .descriptor = b},
                                        {.arg = DNNL_ARG_DST, .output = 0, .descriptor = y}};
    if (own_bias) arguments.push_back({.arg = DNNL_ARG_BIAS, .input = 2, .descriptor = bias});
    Part part{dnnl_kernel([&] { return make_descriptor(&desc, attributes, nullptr); }, std::move(arguments), 1),
              columns};
    (by_rows ? part.y : part.b) = columns.begin * s.n;
    return part;
  }

  // y = act(sum of the partial products, in order, + bias), as one pass
  void plan_finish() {
    code_.clear();
    operands_.clear();
    const auto step = [&](PointwiseOp op, std::uint8_t with) {
      code_.push_back({op, place::reg(0), place::reg(0), with});
    };
    const PointwiseOp add = pointwise_op("Add");
    code_.push_back({pointwise_op("Cast"), place::reg(0), place::operand(0)});  // from f32 to f32: a copy
    for (const float* partial : partials_) operands_.push_back({partial, PointwiseAccess::full});
    for (std::size_t p = 1; p < partials_.size(); ++p) step(add, place::operand(static_cast<int>(p)));
    if (bias_ != nullptr) {
      step(add, place::operand(static_cast<int>(operands_.size())));
      operands_.push_back({bias_, PointwiseAccess::row});
    }
    if (epilogue_.relu) step(pointwise_op("Relu"), 0);
    code_.back().to = place::output(0);
    check_pointwise(finish_program());
  }
  PointwiseProgram finish_program() const { return {code_, static_cast<int>(operands_.size()), 1}; }
  void finish() {
    run_pointwise(finish_program(),
                  {.rows = shape_.m, .inner = shape_.n, .operands = operands_, .outputs = std::span(&y_, 1)});
  }

  MatMulShape shape_;
  MatMulSplit split_;
  MatMulEpilogue epilogue_;
  std::vector<Part> parts_;
  std::vector<float*> partials_;
  std::vector<PointwiseInstruction> code_;
  std::vector<PointwiseOperand> operands_;
  const float* a_ = nullptr;
  float* y_ = nullptr;
  const float* bias_ = nullptr;
};

}  // namespace

MatMulSplit possible_split(const MatMulShape& s, int threads) {
  constexpr int kMostThreads = 8;
  if (threads < 2 || threads > kMostThreads || s.transpose_b) return MatMulSplit::none;
  if ((s.transpose_a ? s.m : s.k) < threads) return MatMulSplit::none;
  return s.transpose_a ? MatMulSplit::rows : MatMulSplit::depth;
}

// Thin: weights [k, n] that outweigh the batch by far, yet fit the cores' own caches.
MatMulSplit choose_split(const MatMulShape& s, int threads) {
  constexpr std::int64_t kThin = 64, kLeast = 128, kMost = 1 << 19;
  const MatMulSplit split = possible_split(s, threads);
  if (split == MatMulSplit::depth && s.m <= kThin && s.k >= kLeast * threads && s.k * s.n <= kMost) return split;
  if (split == MatMulSplit::rows && s.k <= kThin && s.m >= kLeast * threads && s.m * s.n <= kMost) return split;
  return MatMulSplit::none;
}

KernelPtr make_split_matmul(const MatMulShape& shape, MatMulSplit split, int threads, MatMulEpilogue epilogue) {
  return std::make_unique<SplitMatMul>(shape, split, threads, epilogue);
}

}  // namespace belfry
