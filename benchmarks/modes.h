// What the program measures, each as one function that prints its result.
#pragma once

#include "benchmarks/options.h"

namespace belfry::bench {

void measure_step(const Options& options);     // the plain step of a suite
void measure_trainer(const Options& options);  // a suite through a trainer, beside independent processes
void measure_rounds(const Options& options);   // either of the two, on command

// --numerics: the loss of each step.
void print_losses(const Suite& suite, const std::vector<Array>& losses, const Options& options);

}  // namespace belfry::bench
