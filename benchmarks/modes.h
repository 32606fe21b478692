// What the program measures, each as one function that prints its result.
#pragma once

#include "benchmarks/options.h"

namespace belfry::bench {

void measure_step(const Options& options);     // the plain step of a suite
void measure_trainer(const Options& options);  // a suite through a trainer, compared to independent processes
void measure_rounds(const Options& options);   // either of the two, on command

void measure_input(const Options& options);       // what QueueInput costs and gains
void measure_staging(const Options& options);     // what StagingInput costs and gains
void measure_overhead(const Options& options);    // what the trainer's loop costs
void measure_sample(const Options& options);      // sampling from a transformer with a cache, compared to PyTorch
void measure_shapes(const Options& options);      // what changing batch sizes and lengths cost
void measure_compile(const Options& options);     // defining and compiling deep networks
void measure_ptb_medium(const Options& options);  // PTB's medium model compared to PyTorch, by perplexity
void measure_data(const Options& options);        // what data pipelines cost; only with images
void measure_soak(const Options& options);        // whether a pipeline's memory grows; only with images

// --numerics: the loss of each step.
void print_losses(const Suite& suite, const std::vector<Array>& losses, const Options& options);
// --limit, --trace: where the time of these steps went.
struct ProfiledSteps {
  int steps = 0;
  double seconds = 0;  // of all
};
void print_profile(const Suite& suite, const Session& session, const ProfiledSteps& profiled, const Options& options);

}  // namespace belfry::bench
