#include <algorithm>
#include <cstring>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/compile/sub_plan.h"
#include "belfry/engine/cpu/kernel/own_memory.h"

namespace belfry {
namespace {

std::span<const TensorInfo> first(std::span<const TensorInfo> infos, std::size_t count) { return infos.first(count); }

const SubGraph& function_of(const KernelContext& c, std::string_view name) {
  return *c.attributes->get<SubGraphPtr>(name);
}

void check_shapes(const KernelContext& c, const SubPlan& function, std::span<const TensorInfo> wanted) {
  for (std::size_t i = 0; i < function.outputs().size(); ++i)
    BELFRY_CHECK(function.outputs()[i].shape == wanted[i].shape,
                 "{} expected {} as result number {}, got {} with the shapes fed in this run {}", describe(*c.origin),
                 to_string(wanted[i].shape), i, to_string(function.outputs()[i].shape), made_at(*c.origin));
}

class CondKernel final : public Kernel, public OwnMemory {
 public:
  explicit CondKernel(const KernelContext& c)
      : then_(function_of(c, "then"), c.inputs.subspan(1), c), else_(function_of(c, "else"), c.inputs.subspan(1), c) {
    check_shapes(c, then_, c.outputs);
    check_shapes(c, else_, c.outputs);
  }
  void bind(const Buffers& b) override { buffers_ = b; }
  void run(const Step& step) override {
    SubPlan& chosen = *buffers_.in<bool>(0) ? then_ : else_;
    chosen.run(step, std::span(buffers_.inputs).subspan(1), buffers_.outputs);
  }
  std::size_t own_bytes() const override { return then_.bytes() + else_.bytes(); }
  std::string describe() const override { return "own:branches"; }

 private:
  SubPlan then_, else_;
  Buffers buffers_;
};

class WhileKernel final : public Kernel, public OwnMemory {
 public:
  explicit WhileKernel(const KernelContext& c)
      : condition_(function_of(c, "condition"), c.inputs, c),
        body_(function_of(c, "body"), c.inputs, c, function_of(c, "body").outputs.size()),
        most_(c.attributes->integer("most")) {
    check_shapes(c, body_, c.outputs);
    for (std::size_t i = 0; i < body_.outputs().size(); ++i) {
      bytes_.push_back(body_.outputs()[i].bytes());
      stays_.push_back(body_.in_place(i) != nullptr && !condition_.reads(i));
    }
  }
  void bind(const Buffers& b) override {
    state_ = b.inputs;  // from the second pass on the loop's tensors are the outputs
    std::ranges::copy(b.outputs.begin(), b.outputs.end() - 1, state_.begin());
    buffers_ = b;
    inputs_ = state_;
    outputs_.assign(b.outputs.begin(), b.outputs.end() - 1);
    for (std::size_t i = 0; i < stays_.size(); ++i)
      if (stays_[i]) outputs_[i] = nullptr;
  }
  void run(const Step& step) override {
    for (std::size_t i = 0; i < stays_.size(); ++i) {
      inputs_[i] = stays_[i] ? buffers_.inputs[i] : state_[i];
      if (!stays_[i]) copy_tensor(buffers_.outputs[i], buffers_.inputs[i], bytes_[i]);
    }
    std::int64_t passes = 0;
    bool again = true;
    void* const decision[] = {&again};
    while (passes != most_) {
      condition_.run(step_of_pass(step, passes), state_, decision);
      if (!again) break;
      body_.run(step_of_pass(step, passes), inputs_, outputs_);
      if (passes++ > 0) continue;
      for (std::size_t i = 0; i < stays_.size(); ++i)
        if (stays_[i]) inputs_[i] = nullptr;
    }
    for (std::size_t i = 0; i < stays_.size(); ++i)
      if (stays_[i]) copy_tensor(buffers_.outputs[i], passes > 0 ? body_.in_place(i) : buffers_.inputs[i], bytes_[i]);
    *static_cast<std::int64_t*>(buffers_.outputs.back()) = passes;
  }
  std::size_t own_bytes() const override { return condition_.bytes() + body_.bytes(); }
  std::string describe() const override { return "own:loop"; }

 private:
  SubPlan condition_, body_;
  std::int64_t most_;
  std::vector<std::size_t> bytes_;  // of the loop's tensors
  std::vector<char> stays_;         // by the loop's tensor: it is in the body's memory from the first pass to the last
  std::vector<const void*> state_, inputs_;
  std::vector<void*> outputs_;
  Buffers buffers_;
};

template <class T>
void accumulate(void* sum, const void* more, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) static_cast<T*>(sum)[i] += static_cast<const T*>(more)[i];
}

// Forward again, keeping the loop's tensors before each pass; then back. Captured tensors get a sum over passes.
class WhileGradKernel final : public Kernel, public OwnMemory {
 public:
  explicit WhileGradKernel(const KernelContext& c)
      : loop_(function_of(c, "body").outputs.size()),
        forward_inputs_(function_of(c, "body").inputs.size()),
        body_(function_of(c, "body"), first(c.inputs, forward_inputs_), c),
        gradient_(function_of(c, "gradient"), gradient_inputs(c), c) {
    for (std::size_t i = 0; i < loop_; ++i) {
      sizes_.push_back(c.inputs[i].bytes());
      if (is_float(c.inputs[i].dtype)) ++float_loop_;
    }
    for (const TensorInfo& info : gradient_.outputs()) {
      infos_.push_back(info);
      fresh_.emplace_back(info.dtype, info.shape);
      results_.push_back(fresh_.back().raw());
    }
  }
  void bind(const Buffers& b) override { buffers_ = b; }

  void run(const Step& step) override {
    const std::int64_t passes = *buffers_.in<std::int64_t>(static_cast<int>(forward_inputs_));
    keep_states(step, passes);
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      const bool of_loop = i < float_loop_;
      const void* start = of_loop ? buffers_.inputs[forward_inputs_ + 1 + i] : nullptr;
      if (infos_[i].bytes() == 0) continue;
      if (of_loop)
        std::memcpy(buffers_.outputs[i], start, infos_[i].bytes());
      else
        std::memset(buffers_.outputs[i], 0, infos_[i].bytes());
    }
    for (std::int64_t pass = passes - 1; pass >= 0; --pass) {
      std::vector<const void*>& in = inputs_;
      in.assign(buffers_.inputs.begin(), buffers_.inputs.begin() + static_cast<std::ptrdiff_t>(forward_inputs_));
      for (std::size_t i = 0; i < loop_; ++i) in[i] = states_[static_cast<std::size_t>(pass)][i].raw();
      for (std::size_t i = 0; i < float_loop_; ++i) in.push_back(buffers_.outputs[i]);
      gradient_.run(step_of_pass(step, pass), in, results_);
      for (std::size_t i = 0; i < infos_.size(); ++i) {
        if (i < float_loop_) {
          copy_tensor(buffers_.outputs[i], results_[i], infos_[i].bytes());
        } else if (infos_[i].dtype == DType::f64) {
          accumulate<double>(buffers_.outputs[i], results_[i], infos_[i].elements());
        } else {
          accumulate<float>(buffers_.outputs[i], results_[i], infos_[i].elements());
        }
      }
    }
  }
  std::size_t own_bytes() const override {
    std::size_t state = 0, results = 0;
    for (std::size_t bytes : sizes_) state += bytes;
    for (const TensorInfo& info : infos_) results += info.bytes();
    return body_.bytes() + gradient_.bytes() + results + states_.size() * state;
  }
  std::string describe() const override { return "own:loop"; }

 private:
  // For the function "gradient": the forward inputs and the gradients, without the number of passes between them.
  std::vector<TensorInfo> gradient_inputs(const KernelContext& c) const {
    std::vector<TensorInfo> out(c.inputs.begin(), c.inputs.end());
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(forward_inputs_));
    return out;
  }

  // states_[p]: the loop's tensors before pass p. Memory grows with the longest loop seen.
  void keep_states(const Step& step, std::int64_t passes) {
    while (static_cast<std::int64_t>(states_.size()) < std::max<std::int64_t>(passes, 1)) {
      std::vector<Array>& state = states_.emplace_back();
      for (std::size_t bytes : sizes_) state.emplace_back(DType::u8, Shape{static_cast<std::int64_t>(bytes)});
    }
    for (std::size_t i = 0; i < loop_; ++i) copy_tensor(states_[0][i].raw(), buffers_.inputs[i], sizes_[i]);
    for (std::int64_t pass = 0; pass + 1 < passes; ++pass) {
      inputs_.assign(buffers_.inputs.begin(), buffers_.inputs.begin() + static_cast<std::ptrdiff_t>(forward_inputs_));
      next_.clear();
      for (std::size_t i = 0; i < loop_; ++i) {
        inputs_[i] = states_[static_cast<std::size_t>(pass)][i].raw();
        next_.push_back(states_[static_cast<std::size_t>(pass) + 1][i].raw());
      }
      body_.run(step_of_pass(step, pass), inputs_, next_);
    }
  }

  std::size_t loop_, forward_inputs_, float_loop_ = 0;
  SubPlan body_, gradient_;
  std::vector<std::size_t> sizes_;  // bytes of the loop's tensors
  std::vector<TensorInfo> infos_;   // of the results
  std::vector<Array> fresh_;        // results of one pass
  std::vector<void*> results_, next_;
  std::vector<const void*> inputs_;
  std::vector<std::vector<Array>> states_;
  Buffers buffers_;
};

template <class K>
KernelPtr make(const KernelContext& c) {
  return std::make_unique<K>(c);
}

const KernelRegistration cond_kernel = define_kernel("Cond").runs_plans().make(make<CondKernel>);
const KernelRegistration while_kernel = define_kernel("While").runs_plans().make(make<WhileKernel>);
const KernelRegistration while_grad_kernel = define_kernel("WhileGrad").runs_plans().make(make<WhileGradKernel>);

}  // namespace
}  // namespace belfry
