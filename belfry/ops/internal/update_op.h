// The family of ops that update a variable by an optimizer's rule: by a gradient of its shape, or by the rows that a
// sparse gradient has. "Apply<Rule>" and "Apply<Rule>Rows" have the same slots, scalars and attributes.
#pragma once

#include <string_view>
#include <vector>

#include "belfry/graph/op_def.h"
#include "belfry/graph/variable.h"
#include "belfry/ops/sparse_rows.h"

namespace belfry {

struct UpdateSlot {
  const char* name;  // "accumulator"
  const char* what;  // "an accumulator", for error texts
};

// The inputs: the variable, its slots, the number of the update if it is counted, the learning rate, then the gradient;
// or instead of it ids and rows. The output is the variable's new value.
struct UpdateSignature {
  const char* rule;  // "Momentum"
  std::vector<UpdateSlot> slots{};
  bool counted = false;
  const char* doc;  // "One step of gradient descent with momentum"
};
OpRegistration define_update(const UpdateSignature& signature);
OpRegistration define_rows_update(const UpdateSignature& signature);

// One update: by a tensor or by rows. The scalars are in the op's order.
struct UpdateCall {
  const Variable& variable;
  std::vector<Variable> slots{};
  std::vector<Operand> scalars;
  Attributes attributes;
  std::string_view name;
};
Tensor add_update(OpRegistration op, const UpdateCall& call, const Operand& gradient);
Tensor add_update(OpRegistration op, const UpdateCall& call, const SparseRows& gradient);

}  // namespace belfry
