#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/compile/sub_plan.h"
#include "belfry/engine/cpu/kernel/own_memory.h"

namespace belfry {
namespace {

TensorInfo step_of(const TensorInfo& sequence) {
  TensorInfo out{.dtype = sequence.dtype, .shape = {}};
  for (int i = 1; i < sequence.shape.rank(); ++i) out.shape.push_back(sequence.shape[i]);
  return out;
}

// states, sequences [time, ...], captured -> states, outputs [time, ...] (, the states before each step [time, ...])
class ScanKernel final : public Kernel, public OwnMemory {
 public:
  explicit ScanKernel(const KernelContext& c)
      : states_(static_cast<std::size_t>(c.attributes->integer("states"))),
        sequences_(static_cast<std::size_t>(c.attributes->integer("sequences"))),
        time_(c.inputs[states_].shape[0]),
        reverse_(c.attributes->get<bool>("reverse")),
        keeps_(c.attributes->get<bool>("keeps")),
        body_(*c.attributes->get<SubGraphPtr>("body"), step_inputs(c), c, states_) {
    for (std::size_t i = 0; i < states_; ++i) {
      const TensorInfo &next = body_.outputs()[i], &state = c.inputs[i];
      BELFRY_CHECK(next.shape == state.shape,
                   "{} expected a body that keeps the shapes of the state, got {} for number {} of {} with the shapes "
                   "fed in this run {}",
                   belfry::describe(*c.origin), to_string(next.shape), i, to_string(state.shape), made_at(*c.origin));
    }
    for (const TensorInfo& info : step_inputs(c)) in_bytes_.push_back(info.bytes());
    for (const TensorInfo& info : body_.outputs()) out_bytes_.push_back(info.bytes());
  }

  void bind(const Buffers& b) override {
    buffers_ = b;
    in_ = b.inputs;
    out_.assign(b.outputs.begin(), b.outputs.begin() + static_cast<std::ptrdiff_t>(out_bytes_.size()));
    for (std::size_t i = 0; i < states_; ++i)
      if (body_.in_place(i) != nullptr) out_[i] = nullptr;  // stays in the body's memory
  }

  void run(const Step& step) override {
    std::copy_n(buffers_.inputs.begin(), states_, in_.begin());
    for (std::int64_t pass = 0; pass < time_; ++pass) {
      const auto t = static_cast<std::size_t>(reverse_ ? time_ - 1 - pass : pass);
      for (std::size_t i = states_; i < states_ + sequences_; ++i)
        in_[i] = static_cast<const std::byte*>(buffers_.inputs[i]) + t * in_bytes_[i];
      for (std::size_t i = states_; i < out_bytes_.size(); ++i)
        out_[i] = static_cast<std::byte*>(buffers_.outputs[i]) + t * out_bytes_[i];
      for (std::size_t i = 0; keeps_ && i < states_; ++i)
        copy_tensor(static_cast<std::byte*>(buffers_.outputs[out_bytes_.size() + i]) + t * in_bytes_[i], state(i, pass),
                    in_bytes_[i]);
      body_.run(step_of_pass(step, static_cast<std::int64_t>(t)), in_, out_);
      if (pass == 0) std::copy_n(out_.begin(), states_, in_.begin());  // then read from where the last step left them
    }
    for (std::size_t i = 0; i < states_; ++i)
      if (state(i, time_) != buffers_.outputs[i]) copy_tensor(buffers_.outputs[i], state(i, time_), in_bytes_[i]);
  }

  std::size_t own_bytes() const override { return body_.bytes(); }
  std::string describe() const override { return "own:loop"; }

 private:
  std::vector<TensorInfo> step_inputs(const KernelContext& c) const {
    std::vector<TensorInfo> out(c.inputs.begin(), c.inputs.end());
    for (std::size_t i = states_; i < states_ + sequences_; ++i) out[i] = step_of(out[i]);
    return out;
  }

  // Where a tensor of the state lies after this many passes.
  const void* state(std::size_t i, std::int64_t passes) const {
    if (passes == 0) return buffers_.inputs[i];
    return out_[i] != nullptr ? out_[i] : body_.in_place(i);
  }

  std::size_t states_, sequences_;
  std::int64_t time_;
  bool reverse_, keeps_;
  SubPlan body_;
  std::vector<std::size_t> in_bytes_, out_bytes_;  // of one step
  std::vector<const void*> in_;
  std::vector<void*> out_;
  Buffers buffers_;
};

const KernelRegistration scan_kernel =
    define_kernel("Scan").runs_plans().make([](const KernelContext& c) { return std::make_unique<ScanKernel>(c); });

}  // namespace
}  // namespace belfry
