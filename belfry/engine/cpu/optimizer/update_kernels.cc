#include "belfry/engine/cpu/optimizer/update_kernels.h"

#include <cmath>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/optimizer/update_norms_team.h"
#include "belfry/engine/cpu/optimizer/weight_copy.h"

namespace belfry {
namespace {

double scalar_input(const Buffers& b, int index, DType dtype) {
  return dtype == f64 ? *b.in<double>(index) : static_cast<double>(*b.in<float>(index));
}

void update_all(const UpdateStep& step, const UpdateBuffers<float>& operands, std::int64_t n, const SecondCopy& copy) {
  if (copy.data != nullptr)
    apply_update(step, operands, copy);
  else
    apply_update(step, operands, n);
}
void update_all(const UpdateStep& step, const UpdateBuffers<double>& operands, std::int64_t n, const SecondCopy&) {
  apply_update(step, operands, n);  // writes_copy() below promises none
}

template <class T>
KernelPtr make_dense(const KernelContext& c, const UpdateKernels& kernels) {
  const auto n = static_cast<std::int64_t>(c.output().bytes() / sizeof(T));  // with padding
  SecondCopy copy;
  const bool second = c.outputs.size() > 1 && describe_copy(c.output(0), c.output(1).layout, copy);
  UpdatePlan plan(c, kernels);
  const std::size_t scratch = plan.takes_norms() ? norm_scratch_bytes(n) : 0;
  return simple_kernel(
      [plan = std::move(plan), copy, second, n](const Buffers& b, const Step&) {
        const UpdateBuffers<T> operands = plan.operands<T>(b, plan.first_after_scalars());
        UpdateStep step = plan.step(b);
        if (plan.takes_norms()) {
          const UpdateNorms norms = update_norms(step, operands, n, b.scratch);
          step = plan.trusted(step, norms.weights, norms.direction);
        }
        SecondCopy target = copy;
        if (second) target.data = b.out<float>(1);
        update_all(step, operands, n, target);
      },
      scratch);
}

}  // namespace

UpdatePlan::UpdatePlan(const KernelContext& c, const UpdateKernels& kernels)
    : slots_(kernels.slots),
      rate_(kernels.slots + (kernels.counted ? 2 : 1)),
      rate_type_(c.input(rate_).dtype),
      weight_decay_(c.attributes->get<double>("weight_decay")),
      decoupled_decay_(c.attributes->get_or<double>("decoupled_decay", 0)),
      step_(kernels.step(*c.attributes)),
      trust_(kernels.trust ? kernels.trust(*c.attributes) : nullptr) {
  if (kernels.counted) {
    number_ = rate_ - 1;
    number_type_ = c.input(number_).dtype;
  }
  if (c.attributes->flag(kScaled)) scale_ = static_cast<int>(c.inputs.size()) - 1;
}

UpdateStep UpdatePlan::step(const Buffers& b) const {
  UpdateScalars now{.learning_rate = scalar_input(b, rate_, rate_type_)};
  if (number_ >= 0) now.number = scalar_input(b, number_, number_type_);
  UpdateStep out = step_(now);
  out.weight_decay = weight_decay_;
  out.decoupled_decay = now.learning_rate * decoupled_decay_;
  if (scale_ >= 0) out.gradient_scale = static_cast<double>(*b.in<float>(scale_));
  return out;
}

UpdateStep UpdatePlan::trusted(UpdateStep step, double weights, double direction) const {
  step.learning_rate *= trust_(std::sqrt(weights), std::sqrt(direction));
  return step;
}

UpdateRegistration define_update_kernels(std::string_view rule, const UpdateKernels& kernels) {
  const std::string op = "Apply" + std::string(rule);
  return {.dense = define_kernel(op)
                       .layout_blind(true)
                       .takes_scale()
                       .takes_weight_decay()
                       .writes_copy([](const TensorInfo& variable, const Layout& copy) {
                         SecondCopy ignored;
                         return variable.dtype == f32 && describe_copy(variable, copy, ignored);
                       })
                       .make([kernels](const KernelContext& c) {
                         return make_for<Floats>(c, c.output().dtype,
                                                 [&]<class T>() { return make_dense<T>(c, kernels); });
                       }),
          // No fused decay: row k of the gradient belongs to another row of the weights.
          .rows = define_kernel(op + "Rows").takes_scale().make([kernels](const KernelContext& c) {
            return make_rows_update(c, kernels);
          })};
}

}  // namespace belfry
