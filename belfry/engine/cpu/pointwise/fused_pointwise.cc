// The program of a fused chain, on the tiled interpreter. Operands are full, one number, a vector along the last axis
// (a row), or one number for each such vector (a column).
#include <algorithm>

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/lanes/channel_layout.h"
#include "belfry/engine/cpu/pointwise/pointwise_ops.h"
#include "belfry/engine/cpu/pointwise/pointwise_team.h"

namespace belfry {
namespace {

std::vector<PointwiseInstruction> decode(const Ints& program) {
  std::vector<PointwiseInstruction> code;
  for (std::size_t i = 0; i + 4 < program.size(); i += 5)
    code.push_back({unpack_op(program[i]), static_cast<std::uint8_t>(program[i + 1]),
                    static_cast<std::uint8_t>(program[i + 2]), static_cast<std::uint8_t>(program[i + 3]),
                    static_cast<std::uint8_t>(program[i + 4]), unpack_value(program[i])});
  return code;
}

PointwiseAccess access_of(const TensorInfo& operand, const TensorInfo& output) {
  if (operand.shape == output.shape) return PointwiseAccess::full;
  if (operand.elements() == 1) return PointwiseAccess::scalar;
  return operand.shape.rank() == 1 ? PointwiseAccess::row : PointwiseAccess::column;
}

// Whether full operands of 0 give a result of 0, whatever the scalars among the operands are.
bool keeps_zero(const std::vector<PointwiseInstruction>& code, const std::vector<PointwiseAccess>& operands) {
  std::vector<bool> zero(kPointwisePlaces, false);
  for (std::size_t i = 0; i < operands.size(); ++i)
    zero[static_cast<std::size_t>(kFirstOperand) + i] = operands[i] == PointwiseAccess::full;
  for (const PointwiseInstruction& c : code) {
    const auto needed = static_cast<unsigned>(zero_if(c.op));
    const bool a = (needed & 1) == 0 || zero[c.a], b = (needed & 2) == 0 || zero[c.b];
    zero[c.to] = needed != 0 && a && b && ((needed & 4) == 0 || zero[c.c]);
  }
  return zero[kFirstOutput];
}

bool keeps_zero(const KernelContext& c) {
  std::vector<PointwiseAccess> operands;
  for (const TensorInfo& input : c.inputs) operands.push_back(access_of(input, c.output()));
  return keeps_zero(decode(c.attributes->get<Ints>("program")), operands);
}

// Padding lanes that the program would not leave at zero, and that can be cleared.
PointwisePadding padding_of(const KernelContext& c, const Layout& layout) {
  PointwisePadding padding;
  TensorInfo output = c.output();
  output.layout = layout;
  return !keeps_zero(c) && channel_padding(output, padding) ? padding : PointwisePadding{};
}

// One layout for all full operands. Operands repeated in rows need plain, and so do bools, and padding that would not
// stay zero unless it is that of channels.
LayoutChoice layouts(const KernelContext& c) {
  LayoutChoice choice{std::vector<Layout>(c.inputs.size()), {Layout()}, {}};
  Layout common;
  if (c.output().dtype == DType::boolean) return choice;
  for (const TensorInfo& input : c.inputs) {
    const PointwiseAccess access = access_of(input, c.output());
    if (access == PointwiseAccess::row || access == PointwiseAccess::column) return choice;
    if (access == PointwiseAccess::full && input.dtype == DType::boolean) return choice;
    if (access == PointwiseAccess::full && common.plain()) common = input.layout;
  }
  if (common.plain() || (has_padding(common) && padding_of(c, common).slab == 0 && !keeps_zero(c))) return choice;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    if (access_of(c.inputs[i], c.output()) == PointwiseAccess::full) choice.inputs[i] = common;
  choice.outputs[0] = common;
  return choice;
}

class FusedPointwise final : public Kernel {
 public:
  explicit FusedPointwise(const KernelContext& c) : code_(decode(c.attributes->get<Ints>("program"))) {
    for (const TensorInfo& input : c.inputs) {
      operands_.push_back({nullptr, access_of(input, c.output())});
      masks_.push_back(input.dtype == DType::boolean);
    }
    gives_mask_ = c.output().dtype == DType::boolean;
    program_ = {code_, static_cast<int>(operands_.size()), 1};
    check_pointwise(program_);
    const bool rowwise = std::ranges::any_of(operands_, [](const PointwiseOperand& o) {
      return o.access == PointwiseAccess::row || o.access == PointwiseAccess::column;
    });
    const auto count = static_cast<std::int64_t>(c.output().bytes() / (gives_mask_ ? sizeof(bool) : sizeof(float)));
    inner_ = rowwise ? c.output().shape[-1] : count;
    rows_ = rowwise ? count / inner_ : 1;
    padding_ = padding_of(c, c.output().layout);
  }
  void bind(const Buffers& b) override {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (masks_[i])
        operands_[i].mask = static_cast<const bool*>(b.inputs[i]);
      else
        operands_[i].data = static_cast<const float*>(b.inputs[i]);
    }
    if (gives_mask_)
      mask_output_ = b.out<bool>();
    else
      output_ = b.out<float>();
  }
  void run(const Step&) override {
    run_pointwise(program_, {.rows = rows_,
                             .inner = inner_,
                             .operands = operands_,
                             .outputs = std::span(&output_, 1),
                             .mask_output = mask_output_,
                             .padding = padding_});
  }
  std::string describe() const override { return "own:pointwise x" + std::to_string(code_.size()); }

 private:
  std::vector<PointwiseInstruction> code_;
  std::vector<PointwiseOperand> operands_;
  std::vector<bool> masks_;  // which operands are bools
  bool gives_mask_ = false;
  PointwiseProgram program_;
  std::int64_t rows_ = 1, inner_ = 0;
  PointwisePadding padding_;
  float* output_ = nullptr;
  bool* mask_output_ = nullptr;
};

KernelRegistration define() {
  KernelDefinition definition = define_kernel("FusedPointwise").layout_rule(layouts).follows_inputs().elementwise();
  for (int i = 0; i < kPointwiseOperands; ++i) definition.in_place(i);
  return definition.make([](const KernelContext& c) -> KernelPtr { return std::make_unique<FusedPointwise>(c); });
}
const KernelRegistration kernel = define();

}  // namespace
}  // namespace belfry
