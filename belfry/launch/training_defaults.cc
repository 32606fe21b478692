// What train_with_defaults() adds to a training.
#include "belfry/loop/internal/training_defaults.h"

#include "belfry/callbacks/hyper_param_summary.h"
#include "belfry/callbacks/monitors/json_writer.h"
#include "belfry/callbacks/monitors/scalar_printer.h"
#include "belfry/callbacks/progress_bar.h"
#include "belfry/callbacks/summaries.h"
#include "belfry/loop/run_op.h"

namespace belfry {
namespace {

[[maybe_unused]] const bool registered = set_training_defaults({
    .callbacks =
        [] {
          return Callbacks{MovingAverageSummary(), ProgressBar(), MergeAllSummaries(), RunUpdateOps(),
                           HyperParamSummary()};
        },
    .monitors = [] { return std::vector<Handle<Monitor>>{JSONWriter(), ScalarPrinter()}; },
});

}  // namespace
}  // namespace belfry
