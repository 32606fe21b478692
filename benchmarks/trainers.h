// A suite through the library's trainers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/options.h"

namespace belfry::bench {

std::vector<std::string> trainer_names();

// The only place that knows the trainers.
std::unique_ptr<SingleCostTrainer> make_trainer(const std::string& name, int devices);

// The trainer with its graph built; every tower repeatedly takes its own of the suite's batches from a queue.
std::unique_ptr<TowerTrainer> make_suite_trainer(const Suite& suite, const std::string& name, int devices);

// Calls its setup_callbacks() and initialize(), with the suite's parameters.
void prepare(TowerTrainer& trainer, const Suite& suite, const Callbacks& callbacks, const Options& options);

}  // namespace belfry::bench
