#include "belfry/engine/testing/test_backend.h"

#include "belfry/base/mutex.h"
#include "belfry/engine/testing/far_part.h"
#include "belfry/engine/testing/far_thread.h"
#include "belfry/engine/testing/ops_run.h"

namespace belfry {
namespace {

struct OpsRun {
  Mutex mutex;
  std::set<std::string> ops BELFRY_GUARDED_BY(mutex);
};

OpsRun& ops_run() {
  static OpsRun instance;
  return instance;
}

class TestBackend final : public Backend {
 public:
  explicit TestBackend(const BackendSetup& setup) : setup_(setup) {
    for (const DeviceInfo& device : setup.devices)
      threads_.push_back(device.name.kind() == "test" ? std::make_unique<FarThread>() : nullptr);
  }

  std::unique_ptr<CompiledPart> compile(PartRequest request) override {
    const auto device = static_cast<std::size_t>(request.part.device);
    return std::make_unique<FarPart>(
        std::move(request), FarPart::Place{static_cast<FarVariables&>(setup_.variables), setup_.devices[device].name,
                                           setup_.crossings, crossings_, setup_.queues, *threads_[device]});
  }
  std::uint64_t generation() const override { return 0; }

 private:
  BackendSetup setup_;
  FarCrossings crossings_;
  std::vector<std::unique_ptr<FarThread>> threads_;  // by device of the session
};

const BackendRegistration test_backend =
    register_backend({.kind = "test",
                      .make_variables = [] { return std::make_unique<FarVariables>(); },
                      .make = [](const BackendSetup& setup) { return std::make_unique<TestBackend>(setup); }});

}  // namespace

void note_op_run(const std::string& op) {
  const MutexLock lock(ops_run().mutex);
  ops_run().ops.insert(op);
}

std::set<std::string> ops_run_on_test_devices() {
  const MutexLock lock(ops_run().mutex);
  return ops_run().ops;
}

}  // namespace belfry
