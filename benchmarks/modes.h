// What the program measures, each as one function that prints its result.
#pragma once

#include "benchmarks/options.h"

namespace belfry::bench {

void measure_step(const Options& options);  // the plain step of a suite

}  // namespace belfry::bench
