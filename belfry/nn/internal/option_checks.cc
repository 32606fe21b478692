#include "belfry/nn/internal/option_checks.h"

#include <cmath>

#include "belfry/base/check.h"

namespace belfry {

void OptionChecks::from_zero(const char* what, double value, const char* remedy) const {
  BELFRY_CHECK(value >= 0 && std::isfinite(value), "[{}] expected {} of 0 or more, got {} (at {}). {}", optimizer, what,
               value, to_string(where), remedy);
}

void OptionChecks::fraction(const char* what, double value, double usual) const {
  BELFRY_CHECK(value >= 0 && value < 1, "[{}] expected {} in [0, 1), got {} (at {}). The usual one is {}.", optimizer,
               what, value, to_string(where), usual);
}

void OptionChecks::rate(const Operand& rate) const {
  if (rate.is_number())
    return from_zero("a learning rate", rate.number(), "To maximise something, minimize its negative.");
  const Tensor t = rate.tensor();
  BELFRY_CHECK(t && t.rank() == 0 && is_float(t.dtype()),
               "[{}] expected a learning rate that is a single float, got {} (at {}). Pass a number, a hyper_param(), "
               "or a scalar tensor.",
               optimizer, to_string(t), to_string(where));
}

}  // namespace belfry
