// The backend for sets of cores: what registers engine/cpu with the engine.
#include "belfry/base/check.h"
#include "belfry/engine/backend.h"
#include "belfry/engine/cpu/compile/algorithm_table.h"
#include "belfry/engine/cpu/compile/part_plan.h"
#include "belfry/engine/cpu/dnnl/dnnl_check.h"
#include "belfry/engine/cpu/kernel/bf16_support.h"
#include "belfry/engine/cpu/memory/shared_variables.h"
#include "belfry/engine/cpu/memory/variable_store.h"

namespace belfry {
namespace {

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const BackendSetup& setup)
      : store_(static_cast<VariableStore&>(setup.variables)),
        target_{.store = store_,
                .arenas = arenas_,
                .crossings = setup.crossings,  // the CPU's memory is the host's
                .devices = setup.devices,
                .queues = setup.queues,
                .precision = setup.precision} {
    for (std::size_t i = 0; i < setup.devices.size(); ++i) arenas_.push_back(std::make_unique<Arena>());
    if (setup.autotune) algorithms_ = std::make_unique<AlgorithmTable>(setup.autotune_file);
    target_.algorithms = algorithms_.get();
  }

  std::unique_ptr<CompiledPart> compile(PartRequest request) override {
    // A program of several parts needs no snapshots: it runs while no other session does.
    target_.snapshots = store_.shared() && request.alone ? &snapshots_ : nullptr;
    std::vector<HeldValue> held;
    if (request.before != nullptr) held = static_cast<const LeftInArena&>(*request.before).values;
    for (HeldValue& value : held)
      value.ends = request.crossings[static_cast<std::size_t>(value.crossing)].last_reader == request.part.number;
    return compile_part(std::move(request.part), request.crossings, request.slots, target_, std::move(held));
  }

  std::uint64_t generation() const override { return 0; }  // only variables and crossings move

  Memory memory() const override {
    Memory out{.snapshots = snapshots_.bytes()};
    for (const auto& arena : arenas_) out.arena += arena->required();
    return out;
  }

  std::string explain(const std::vector<const CompiledPart*>& parts, const MemoryUse& use) const override {
    return explain_parts(parts, use, target_.precision);
  }

  // Not for bf16_emulated, where it is intended.
  std::string warning() const override {
    if (target_.precision != Precision::bf16 || bf16_support().tiles) return "";
    return fmt::format(
        "[Session] bf16 products are {}. Their results are those of bf16, but they take longer than f32's. Use "
        "Precision::f32 for speed, or Precision::bf16_emulated if this is intended.",
        bf16_support().reason);
  }

  std::map<std::string, std::string> algorithms() const override {
    return algorithms_ ? algorithms_->used() : std::map<std::string, std::string>();
  }
  bool restore_algorithms(const std::map<std::string, std::string>& choices) override {
    if (algorithms_ == nullptr) return false;
    algorithms_->restore(choices);
    store_.outdate_plans();
    return true;
  }

 private:
  VariableStore& store_;
  VariableSnapshots snapshots_;
  std::vector<std::unique_ptr<Arena>> arenas_;  // one for each of the session's devices
  std::unique_ptr<AlgorithmTable> algorithms_;  // null without autotune
  CompileTarget target_;
};

const BackendRegistration cpu_backend =
    register_backend({.kind = "cpu",
                      .has_threads = true,
                      .make_variables = [] { return std::make_unique<VariableStore>(); },
                      .make = [](const BackendSetup& setup) { return std::make_unique<CpuBackend>(setup); },
                      .versions = [] { return std::map<std::string, std::string>{{"onednn", dnnl_version_text()}}; }});

}  // namespace
}  // namespace belfry
