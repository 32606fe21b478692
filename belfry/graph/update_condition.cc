#include "belfry/graph/update_condition.h"

#include "belfry/base/check.h"
#include "belfry/graph/collections.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/scope_state.h"
#include "belfry/graph/internal/state_ops.h"

namespace belfry {

// The flag is a variable because its memory does not move: an instruction can check it without being one of its
// readers.
UpdateCondition::UpdateCondition(const Tensor& condition, const Location& where) {
  BELFRY_CHECK(condition && condition.dtype() == DType::boolean && condition.rank() == 0,
               "[UpdateCondition] expected a bool scalar, got {} (at {}). Compare something: equal(count, 0.f).",
               to_string(condition), to_string(current_location(where)));
  const LocationScope location(where);
  Variable flag;
  {
    const GraphScope root(current_graph());
    const Initializer off = [](const Shape& shape, DType dtype) {
      return add_tensor(constant_op(), {}, {.attributes = {{"value", Array::zeros(dtype, shape)}}});
    };
    flag = new_variable(
        "update_condition",
        {.dtype = DType::boolean, .initializer = off, .collections = {std::string(collection::kLocalVariables)}});
  }
  std::vector<UpdateConditionFlag> around;
  around.swap(state().update_conditions);  // the flag itself is set in every run
  const Tensor set = flag.assign(condition);
  around.push_back({flag.node(), set.node()});
  state().update_conditions = std::move(around);
}

}  // namespace belfry
