// The program of a fused chain, on the tiled interpreter. Operands are full, one number, or a vector along the last
// axis.
#include <algorithm>

#include "belfry/engine/cpu/channel_layout.h"
#include "belfry/engine/cpu/kernels/pointwise.h"
#include "belfry/engine/kernel.h"

namespace belfry {
namespace {

std::vector<PointwiseInstruction> decode(const Ints& program) {
  std::vector<PointwiseInstruction> code;
  for (std::size_t i = 0; i + 4 < program.size(); i += 5)
    code.push_back({static_cast<PointwiseOp>(program[i]), static_cast<std::uint8_t>(program[i + 1]),
                    static_cast<std::uint8_t>(program[i + 2]), static_cast<std::uint8_t>(program[i + 3]),
                    static_cast<std::uint8_t>(program[i + 4])});
  return code;
}

PointwiseAccess access_of(const TensorInfo& operand, const TensorInfo& output) {
  if (operand.shape == output.shape) return PointwiseAccess::full;
  return operand.elements() == 1 ? PointwiseAccess::scalar : PointwiseAccess::row;
}

// Whether full operands that are 0 give a result that is 0, whatever the numbers among the operands are.
bool keeps_zero(const std::vector<PointwiseInstruction>& code, const std::vector<PointwiseAccess>& operands) {
  std::vector<bool> zero(kPointwisePlaces, false);
  for (std::size_t i = 0; i < operands.size(); ++i)
    zero[static_cast<std::size_t>(kFirstOperand) + i] = operands[i] == PointwiseAccess::full;
  for (const PointwiseInstruction& c : code) {
    using enum PointwiseOp;
    bool result = false;
    switch (c.op) {
      case copy:
      case negate:
      case abs:
      case square:
      case sqrt:
      case tanh:
      case erf:
      case gelu:
      case gelu_grad:
      case sin:
      case sign:
      case floor:
      case ceil:
      case relu:
      case relu_grad:
      case log1p: result = zero[c.a]; break;
      case add:
      case subtract:
      case maximum:
      case minimum: result = zero[c.a] && zero[c.b]; break;
      case multiply: result = zero[c.a] && zero[c.b]; break;  // 0 times a number that may be infinite is not 0
      default: break;
    }
    zero[c.to] = result;
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

// One layout for all full operands. A vector along the last axis wants plain, and so does padding that would not stay
// zero where it is not that of channels.
LayoutChoice layouts(const KernelContext& c) {
  LayoutChoice choice{std::vector<Layout>(c.inputs.size()), {Layout()}, {}};
  Layout common;
  for (const TensorInfo& input : c.inputs) {
    const PointwiseAccess access = access_of(input, c.output());
    if (access == PointwiseAccess::row) return choice;
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
    for (const TensorInfo& input : c.inputs) operands_.push_back({nullptr, access_of(input, c.output())});
    program_ = {code_, static_cast<int>(operands_.size()), 1};
    check_pointwise(program_);
    const bool rowwise =
        std::ranges::any_of(operands_, [](const PointwiseOperand& o) { return o.access == PointwiseAccess::row; });
    const std::int64_t count = static_cast<std::int64_t>(c.output().bytes() / sizeof(float));
    inner_ = rowwise ? c.output().shape[-1] : count;
    rows_ = rowwise ? count / inner_ : 1;
    padding_ = padding_of(c, c.output().layout);
  }
  void bind(Buffers b) override {
    for (std::size_t i = 0; i < operands_.size(); ++i) operands_[i].data = static_cast<const float*>(b.inputs[i]);
    output_ = b.out<float>();
  }
  void run(const Step&) override {
    run_pointwise(program_, {.rows = rows_,
                             .inner = inner_,
                             .operands = operands_,
                             .outputs = std::span(&output_, 1),
                             .padding = padding_});
  }
  std::string describe() const override { return "own:pointwise x" + std::to_string(code_.size()); }

 private:
  std::vector<PointwiseInstruction> code_;
  std::vector<PointwiseOperand> operands_;
  PointwiseProgram program_;
  std::int64_t rows_ = 1, inner_ = 0;
  PointwisePadding padding_;
  float* output_ = nullptr;
};

KernelRegistration define() {
  KernelDefinition definition = define_kernel("FusedPointwise").layout_rule(layouts).follows_inputs();
  for (int i = 0; i < kPointwiseOperands; ++i) definition.in_place(i);
  return definition.make([](const KernelContext& c) -> KernelPtr { return std::make_unique<FusedPointwise>(c); });
}
const KernelRegistration kernel = define();

}  // namespace
}  // namespace belfry
