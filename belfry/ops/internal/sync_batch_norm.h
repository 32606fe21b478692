// Batch normalisation by the statistics of all towers' batches together. Internal to layers.
#pragma once

#include "belfry/ops/batch_norm.h"
#include "belfry/ops/internal/cross_tower.h"

namespace belfry {

struct SyncBatchNormResult {
  Tensor y;
  Tensor mean, variance;  // of all towers' elements, [channels], the same bits in every tower; the variance is biased
  Tensor count;           // how many those are a channel, [channels]
};

// As batch_norm() with the batches of all towers, of any sizes, one behind the other: y is this tower's part. So is the
// gradient, of the sum of the towers' costs.
SyncBatchNormResult sync_batch_norm(const Operand& x, const Operand& gamma, const Operand& beta,
                                    const BatchNormOptions& options, const CrossTowerGroup& towers);

}  // namespace belfry
