#include "belfry/engine/cpu/kernel/kernel.h"

#include <unordered_map>

#include "belfry/base/check.h"
#include "belfry/base/mutex.h"

namespace belfry {
namespace {

struct Registry {
  Mutex mutex;
  std::unordered_map<OpKind, KernelDef> kernels BELFRY_GUARDED_BY(mutex);  // an entry stays and never changes
};

Registry& registry() {
  static Registry instance;
  return instance;
}

class SimpleKernel final : public Kernel {
 public:
  SimpleKernel(RunFunction run, std::size_t scratch) : run_(std::move(run)), scratch_(scratch) {}
  std::size_t scratch_bytes() const override { return scratch_; }
  void bind(const Buffers& buffers) override { buffers_ = buffers; }
  void run(const Step& step) override { run_(buffers_, step); }

 private:
  RunFunction run_;
  std::size_t scratch_;
  Buffers buffers_;
};

}  // namespace

KernelPtr simple_kernel(RunFunction run, std::size_t scratch_bytes) {
  return std::make_unique<SimpleKernel>(std::move(run), scratch_bytes);
}

KernelDefinition& KernelDefinition::layout_blind(bool zero_stays_zero) {
  def_.layouts = KernelDef::Layouts::blind;
  def_.zero_stays_zero = zero_stays_zero;
  return *this;
}
KernelDefinition& KernelDefinition::layout_rule(LayoutRule rule) {
  def_.layouts = KernelDef::Layouts::rule;
  def_.rule = std::move(rule);
  return *this;
}
KernelDefinition& KernelDefinition::follows_inputs() {
  def_.follows = true;
  return *this;
}
KernelDefinition& KernelDefinition::in_place(int input, int output) {
  def_.in_place.emplace_back(input, output);
  return *this;
}
KernelDefinition& KernelDefinition::view() {
  def_.view = true;
  return *this;
}

KernelDefinition& KernelDefinition::writes_copy(std::function<bool(const TensorInfo&, const Layout&)> can) {
  def_.writes_copy = std::move(can);
  return *this;
}

KernelDefinition& KernelDefinition::takes_weight_decay() {
  def_.takes_weight_decay = true;
  return *this;
}

KernelDefinition& KernelDefinition::takes_scale() {
  def_.takes_scale = true;
  return *this;
}

KernelDefinition& KernelDefinition::algorithms(std::function<Algorithms(const KernelContext&)> list) {
  def_.algorithms = std::move(list);
  return *this;
}

KernelDefinition& KernelDefinition::multiplies(std::vector<int> factors,
                                               std::function<bool(const KernelContext&)> computes_bf16) {
  def_.factors = std::move(factors);
  def_.computes_bf16 = std::move(computes_bf16);
  return *this;
}
KernelDefinition& KernelDefinition::keeps_f32() {
  def_.keeps_f32 = true;
  return *this;
}
KernelDefinition& KernelDefinition::runs_plans() {
  def_.runs_plans = true;
  return *this;
}

KernelDefinition& KernelDefinition::elementwise() {
  def_.elementwise = true;
  return *this;
}
KernelDefinition& KernelDefinition::flops(std::function<double(const Work&)> count) {
  def_.flops = std::move(count);
  return *this;
}

KernelRegistration KernelDefinition::make(std::function<KernelPtr(const KernelContext&)> make) {
  def_.make = std::move(make);
  Registry& r = registry();
  const MutexLock lock(r.mutex);
  const auto [at, added] = r.kernels.emplace(def_.op, def_);
  BELFRY_BUG_IF(!added, "op {} has two kernels", def_.op.name());
  return &at->second;
}

const KernelDef* find_kernel(OpKind op) {
  Registry& r = registry();
  const MutexLock lock(r.mutex);
  const auto at = r.kernels.find(op);
  return at == r.kernels.end() ? nullptr : &at->second;
}

}  // namespace belfry
