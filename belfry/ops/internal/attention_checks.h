// The checks and options that the forms of attention share. Internal to ops.
#pragma once

#include "belfry/graph/op_def.h"
#include "belfry/ops/attention.h"

namespace belfry {

// q, k and v as [batch, heads, time, depth].
struct AttentionForms {
  Shape q, k, v;
};

// Checks everything that q, k and v (the inputs from `at` on) must agree in.
AttentionForms check_attention_inputs(const ShapeContext& c, int at);
// The mask, if there is an input `at`.
void check_attention_mask(const ShapeContext& c, int at, const AttentionForms& f);

AttentionOptions attention_options(const Attributes& attributes);  // all but the mask
double attention_scale(const Operand& q, const AttentionOptions& options);

}  // namespace belfry
