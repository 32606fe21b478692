// Checks of optimizers' options. Errors have the optimizer's name and the line that made it; NaN is refused like any
// number out of range.
#pragma once

#include "belfry/graph/tensor.h"

namespace belfry {

struct OptionChecks {
  const char* optimizer;
  Location where;

  void from_zero(const char* what, double value, const char* remedy) const;
  void fraction(const char* what, double value, double usual) const;  // [0, 1)
  void rate(const Operand& rate) const;
  void weight_decay(double value) const { from_zero("weight_decay", value, "0 means no decay."); }
};

}  // namespace belfry
