// The last pass: kernels created, memory placed, pointers bound.
#pragma once

#include <memory>

#include "belfry/engine/plan.h"

namespace belfry {

std::unique_ptr<Plan> emit(Ir ir, const Signature& signature, const CompileTarget& target);

}  // namespace belfry
