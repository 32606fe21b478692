#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/compile/algorithm_table.h"
#include "belfry/engine/cpu/compile/passes.h"
#include "belfry/engine/cpu/compile/time_algorithms.h"
#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/profiler.h"

namespace belfry {
namespace {

class AlgorithmPass {
 public:
  AlgorithmPass(Ir& ir, AlgorithmTable& table) : ir_(ir), table_(table) {}

  void visit(NodeId id, int threads) {
    const IrNode& node = ir_.node(id);
    const KernelDef* kernel = kernel_of(node);
    if (kernel == nullptr || !kernel->algorithms) return;
    std::vector<TensorInfo> inputs, outputs;
    std::vector<bool> unread;
    for (ValueId v : node.inputs) {
      inputs.push_back(ir_.info(v));
      unread.push_back(ir_.is_op(v, kShapeOnly));
    }
    for (ValueId v : node.outputs) outputs.push_back(ir_.info(v));
    const KernelContext context{.inputs = inputs,
                                .outputs = outputs,
                                .attributes = &node.attributes,
                                .origin = node.origin,
                                .threads = threads};
    const TeamScope team(threads);
    const Algorithms algorithms = kernel->algorithms(context);
    if (algorithms.names.size() < 2) return;
    // Nodes that differ only in what was fused into them are one problem: a choice must not depend on what else is
    // fetched.
    const std::string problem = fmt::format("{} {} threads {}", algorithms.problem, name_of(cpu_isa()), threads);
    const AlgorithmTable::Entry* entry = table_.use(problem, algorithms.names);
    if (entry == nullptr) {
      entry = &table_.add(problem, fastest_algorithm(*kernel, context, algorithms.names, unread));
      ++timed_;
    }
    ir_.change(id, [&](IrNode& changed) {
      changed.attributes.set(kAlgorithm, entry->algorithm);
      changed.attributes.set(kAlgorithmSource, std::string(name_of(entry->source)));
    });
  }

  int timed() const { return timed_; }

 private:
  Ir& ir_;
  AlgorithmTable& table_;
  int timed_ = 0;
};

}  // namespace

void choose_algorithms(Ir& ir, AlgorithmTable& table, const std::vector<DeviceInfo>& devices) {
  const std::int64_t begin = Profiler::now();
  AlgorithmPass pass(ir, table);
  for (NodeId id : topological(ir)) pass.visit(id, devices[static_cast<std::size_t>(ir.node(id).device)].threads);
  if (pass.timed() == 0) return;
  log(table.first_report() ? LogLevel::info : LogLevel::debug,
      fmt::format("[autotune] timed {} of the plan's problems in {:.2f} s; the choices go to '{}'", pass.timed(),
                  static_cast<double>(Profiler::now() - begin) * 1e-9, table.path()));
  table.write();
}

}  // namespace belfry
