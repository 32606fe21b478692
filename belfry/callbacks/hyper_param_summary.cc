#include "belfry/callbacks/hyper_param_summary.h"

#include <fmt/format.h>

#include "belfry/base/internal/exact_number.h"
#include "belfry/graph/collections.h"
#include "belfry/loop/trainer.h"
#include "belfry/nn/hyper_param.h"

namespace belfry {
namespace {

// 0.001 and not 0.0010000000474974513: the value as it was written, which a float only approximates.
double as_written(double value) { return exact_number(fmt::format("{}", static_cast<float>(value))); }

}  // namespace

void HyperParamSummary::setup_graph() {
  for (const Variable& parameter : trainer().graph().collections().variables(collection::kHyperParams)) {
    if (trainer().monitors().is_declared(parameter.name())) continue;
    trainer().monitors().declare(*this, parameter.name());
    parameters_.push_back(parameter);
  }
}

void HyperParamSummary::after_epoch() {
  for (const Variable& parameter : parameters_)
    trainer().monitors().put_scalar(parameter.name(), as_written(trainer().session().value(parameter).item()));
}

}  // namespace belfry
