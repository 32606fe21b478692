// Batch normalisation by the statistics of all towers' batches together. Internal to layers.
#pragma once

#include "belfry/ops/batch_norm.h"
#include "belfry/ops/internal/cross_tower.h"

namespace belfry {

struct SyncBatchNormResult {
  Tensor y;
  Tensor mean, variance;  // of all towers' elements, [channels], bit-identical in every tower; the variance is biased
  Tensor count;           // how many elements that is per channel, [channels]
};

// As batch_norm() on the batches of all towers, of any sizes, joined: y is this tower's part. So is the gradient, which
// is that of the sum of the towers' costs.
SyncBatchNormResult sync_batch_norm(const Operand& x, const Operand& gamma, const Operand& beta,
                                    const BatchNormOptions& options, const CrossTowerGroup& towers);

}  // namespace belfry
