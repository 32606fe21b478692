#include "benchmarks/trainers.h"

#include <fmt/format.h>

namespace belfry::bench {

std::vector<std::string> trainer_names() { return {"simple", "ps", "replicated", "async"}; }

std::unique_ptr<SingleCostTrainer> make_trainer(const std::string& name, int devices) {
  if (name == "simple") return std::make_unique<SimpleTrainer>();
  if (name == "ps") return std::make_unique<SyncMultiDeviceTrainerParameterServer>(cpu_devices(devices));
  if (name == "replicated") return std::make_unique<SyncMultiDeviceTrainerReplicated>(cpu_devices(devices));
  if (name == "async") return std::make_unique<AsyncMultiDeviceTrainer>(cpu_devices(devices));
  throw Error(fmt::format("[bench] expected a trainer of {}, got '{}'", fmt::join(trainer_names(), ", "), name));
}

std::unique_ptr<TowerTrainer> make_suite_trainer(const Suite& suite, const std::string& name, int devices) {
  InputSourcePtr input = QueueInput(from_list(suite.batches));
  if (suite.trainer) return suite.trainer(name, devices, input);
  auto trainer = make_trainer(name, devices);
  trainer->setup_graph(suite.signature, input, suite.cost, suite.optimizer);
  return trainer;
}

void prepare(TowerTrainer& trainer, const Suite& suite, const Callbacks& callbacks, const Options& options) {
  SessionConfig config{.profile = options.limit, .precision = options.session_precision()};
  config.devices.assign(static_cast<std::size_t>(options.devices), {options.threads});
  trainer.setup_callbacks(callbacks);
  trainer.initialize(config);
  fill_parameters(suite, trainer.session());
}

}  // namespace belfry::bench
