#include "belfry/engine/cpu/dnnl/staged_kernel.h"

#include <oneapi/dnnl/dnnl.h>

#include <utility>

#include "belfry/engine/cpu/dnnl/dnnl_kernel.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"

namespace belfry {
namespace {

class StagedKernel final : public Kernel {
 public:
  StagedKernel(KernelPtr kernel, const Stage& stage)
      : kernel_(std::move(kernel)),
        reorder_(stage.input >= 0 ? dnnl_reorder(stage.outside, stage.inside)
                                  : dnnl_reorder(stage.inside, stage.outside)),
        input_(stage.input),
        output_(stage.output),
        staged_(cache_lines(dnnl_memory_desc_get_size(&stage.inside))) {}

  std::size_t scratch_bytes() const override {
    return staged_ + cache_lines(reorder_->scratch_bytes()) + kernel_->scratch_bytes();
  }
  std::string describe() const override { return kernel_->describe(); }
  bool is_dnnl() const override { return kernel_->is_dnnl(); }

  void bind(const Buffers& given) override {
    inner_ = given;
    auto* scratch = static_cast<std::byte*>(given.scratch);
    moves_.scratch = scratch + staged_;
    if (input_ >= 0) {
      moves_.inputs = {std::exchange(inner_.inputs[static_cast<std::size_t>(input_)], scratch)};
      moves_.outputs = {scratch};
    } else {
      moves_.inputs = {scratch};
      moves_.outputs = {std::exchange(inner_.outputs[static_cast<std::size_t>(output_)], scratch)};
    }
    inner_.scratch = scratch + staged_ + cache_lines(reorder_->scratch_bytes());
    reorder_->bind(moves_);
    kernel_->bind(inner_);
  }

  void run(const Step& step) override {
    if (input_ >= 0) reorder_->run(step);
    kernel_->run(step);
    if (output_ >= 0) reorder_->run(step);
  }

 private:
  KernelPtr kernel_, reorder_;
  int input_, output_;
  std::size_t staged_;
  Buffers inner_, moves_;
};

}  // namespace

KernelPtr staged_kernel(KernelPtr kernel, const Stage& stage) {
  return std::make_unique<StagedKernel>(std::move(kernel), stage);
}

}  // namespace belfry
