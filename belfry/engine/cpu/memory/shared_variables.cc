#include "belfry/engine/cpu/memory/shared_variables.h"

#include <cstring>

#include "belfry/base/internal/aligned_memory.h"
#include "belfry/base/parallel.h"

namespace belfry {
namespace {

// The variable's mutex is held.
void copy_to(VariableSnapshot& snapshot, const VariableStore::Storage& variable) {
  if (snapshot.version == variable.version) return;
  constexpr std::int64_t kGrain = std::int64_t{1} << 16;
  const auto* from = static_cast<const std::byte*>(variable.data.get());
  auto* to = static_cast<std::byte*>(snapshot.data.get());
  parallel_for(static_cast<std::int64_t>(snapshot.bytes), kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
  snapshot.version = variable.version;
}

class PullKernel final : public Kernel {
 public:
  PullKernel(const VariableStore::Storage& variable, VariableSnapshot& snapshot)
      : variable_(variable), snapshot_(snapshot) {}
  void bind(const Buffers&) override {}
  void run(const Step&) override {
    const MutexLock lock(variable_.mutex);
    copy_to(snapshot_, variable_);
  }
  std::string describe() const override { return "snapshot"; }

 private:
  const VariableStore::Storage& variable_;
  VariableSnapshot& snapshot_;
};

// Holds the mutexes of several variables. (The set is known only at run time: clang's analysis cannot follow it.)
class LockAll {
 public:
  explicit LockAll(const std::vector<SharedVariable>& variables) BELFRY_THREAD_ATTRIBUTE(no_thread_safety_analysis)
      : variables_(variables) {
    for (const SharedVariable& v : variables_) v.storage->mutex.lock();
  }
  ~LockAll() BELFRY_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
    for (const SharedVariable& v : variables_) v.storage->mutex.unlock();
  }
  LockAll(const LockAll&) = delete;
  LockAll& operator=(const LockAll&) = delete;

 private:
  const std::vector<SharedVariable>& variables_;
};

class SharedUpdateKernel final : public Kernel {
 public:
  SharedUpdateKernel(KernelPtr update, std::vector<SharedVariable> variables)
      : update_(std::move(update)), variables_(std::move(variables)) {}
  std::size_t scratch_bytes() const override { return update_->scratch_bytes(); }
  void bind(const Buffers& buffers) override { update_->bind(buffers); }
  void run(const Step& step) override {
    const LockAll lock(variables_);
    for (const SharedVariable& v : variables_) ++v.storage->version;
    update_->run(step);
    for (const SharedVariable& v : variables_)
      if (v.snapshot != nullptr) copy_to(*v.snapshot, *v.storage);
  }
  std::string describe() const override { return update_->describe(); }
  bool is_dnnl() const override { return update_->is_dnnl(); }

 private:
  KernelPtr update_;
  std::vector<SharedVariable> variables_;
};

}  // namespace

VariableSnapshot& VariableSnapshots::of(const Node* variable, const VariableStore::Storage& storage) {
  VariableSnapshot& out = all_[variable];
  const std::size_t bytes = storage.info.bytes();
  if (out.data == nullptr || out.bytes != bytes) {
    out.data = allocate_zeroed_buffer(bytes);
    out.bytes = bytes;
  }
  out.version = 0;  // the layout may have changed
  return out;
}

std::size_t VariableSnapshots::bytes() const {
  std::size_t total = 0;
  for (const auto& [variable, snapshot] : all_) total += snapshot.bytes;
  return total;
}

KernelPtr pull_kernel(const VariableStore::Storage& variable, VariableSnapshot& snapshot) {
  return std::make_unique<PullKernel>(variable, snapshot);
}

KernelPtr shared_update_kernel(KernelPtr update, std::vector<SharedVariable> variables) {
  return std::make_unique<SharedUpdateKernel>(std::move(update), std::move(variables));
}

}  // namespace belfry
