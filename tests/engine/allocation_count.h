// Counts the allocations of a program that links allocation_count.cc: that puts itself in front of malloc and its
// relatives (operator new calls them) and of dnnl_primitive_execute.
#pragma once

#include <string>

#include "belfry/base/function_ref.h"

namespace belfry {

struct Counted {
  int ours = 0, dnnls = 0;  // inside of oneDNN's execute
  std::string where;        // the first few of ours came from
};

// Of what `work` does, on all threads.
Counted allocations_of(FunctionRef<void()> work);

}  // namespace belfry
