// Optimizers' updates, of whole variables and of some of a table's rows: see device_row.h.
#include "belfry/ops/adaptive_optimizers.h"
#include "belfry/ops/layerwise_optimizers.h"
#include "belfry/ops/sparse_optimizer.h"
#include "tests/ops/device_row.h"

namespace belfry {
namespace {

using G = RowGraph&;

constexpr float kRate = 0.25f;
const Shape kShape{4, 3};

Variable weight(G g) { return g.weights(kShape); }
Variable slot(G g) { return g.weights(kShape, 0.5, 1); }
AdamSlots means(G g) { return {slot(g), slot(g)}; }
AdadeltaSlots squares(G g) { return {slot(g), slot(g)}; }
Tensor step(G g) { return g.fed(Array(2.f)); }
Tensor dense(G g) { return g.floats(kShape); }
SparseRows some_rows(G g) { return {.ids = g.fed(Array::of<std::int64_t>({3}, {0, 2, -1})), .rows = g.floats({3, 3})}; }

const bool whole = device_rows({
    {"ApplySgd", [](G g) { return apply_sgd(weight(g), kRate, dense(g), {.weight_decay = 0.1}); }},
    {"ApplyMomentum", [](G g) { return apply_momentum(weight(g), slot(g), kRate, dense(g), {.nesterov = true}); }},
    {"ApplyAdam", [](G g) { return apply_adam(weight(g), means(g), step(g), kRate, dense(g)); }},
    {"ApplyRmsProp", [](G g) { return apply_rmsprop(weight(g), {slot(g)}, kRate, dense(g)); }},
    {"ApplyRmsPropMomentum",
     [](G g) {
       return apply_rmsprop(weight(g), {.mean_square = slot(g), .accumulator = slot(g)}, kRate, dense(g),
                            {.momentum = 0.5});
     }},
    {"ApplyRmsPropCentered", [](G g) { return apply_rmsprop(weight(g), {slot(g), slot(g)}, kRate, dense(g)); }},
    {"ApplyRmsPropCenteredMomentum",
     [](G g) { return apply_rmsprop(weight(g), {slot(g), slot(g), slot(g)}, kRate, dense(g), {.momentum = 0.5}); }},
    {"ApplyAdagrad", [](G g) { return apply_adagrad(weight(g), slot(g), kRate, dense(g)); }},
    {"ApplyAdadelta", [](G g) { return apply_adadelta(weight(g), squares(g), kRate, dense(g)); }},
    {"ApplyLars", [](G g) { return apply_lars(weight(g), slot(g), kRate, dense(g), {.weight_decay = 0.1}); }},
    {"ApplyLamb", [](G g) { return apply_lamb(weight(g), means(g), step(g), kRate, dense(g)); }},
});

const bool rows = device_rows({
    {"ApplySgdRows", [](G g) { return apply_sgd_rows(weight(g), kRate, some_rows(g)); }},
    {"ApplyMomentumRows", [](G g) { return apply_momentum_rows(weight(g), slot(g), kRate, some_rows(g)); }},
    {"ApplyAdamRows", [](G g) { return apply_adam_rows(weight(g), means(g), step(g), kRate, some_rows(g)); }},
    {"ApplyRmsPropRows", [](G g) { return apply_rmsprop_rows(weight(g), {slot(g)}, kRate, some_rows(g)); }},
    {"ApplyRmsPropMomentumRows",
     [](G g) {
       return apply_rmsprop_rows(weight(g), {.mean_square = slot(g), .accumulator = slot(g)}, kRate, some_rows(g),
                                 {.momentum = 0.5});
     }},
    {"ApplyRmsPropCenteredRows",
     [](G g) { return apply_rmsprop_rows(weight(g), {slot(g), slot(g)}, kRate, some_rows(g)); }},
    {"ApplyRmsPropCenteredMomentumRows",
     [](G g) {
       return apply_rmsprop_rows(weight(g), {slot(g), slot(g), slot(g)}, kRate, some_rows(g), {.momentum = 0.5});
     }},
    {"ApplyAdagradRows", [](G g) { return apply_adagrad_rows(weight(g), slot(g), kRate, some_rows(g)); }},
    {"ApplyAdadeltaRows", [](G g) { return apply_adadelta_rows(weight(g), squares(g), kRate, some_rows(g)); }},
    {"ApplyLarsRows", [](G g) { return apply_lars_rows(weight(g), slot(g), kRate, some_rows(g)); }},
    {"ApplyLambRows", [](G g) { return apply_lamb_rows(weight(g), means(g), step(g), kRate, some_rows(g)); }},
});

}  // namespace
}  // namespace belfry
