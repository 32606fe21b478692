#include "belfry/graph/recompute.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/scope_state.h"

namespace belfry {

RecomputeScope::RecomputeScope(const Location& where) {
  RecomputeMark& mark = state().mark;
  BELFRY_CHECK(mark.segment == 0,
               "[recompute] expected no recompute inside another, got one (at {}). Mark the whole or its parts, not "
               "both.",
               to_string(current_location(where)));
  mark.segment = current_graph().outermost().next_mark();
}

GradientPassScope::GradientPassScope(Graph& graph, const Location& where) {
  RecomputeMark& mark = state().mark;
  if (mark.pass != 0) return;  // called by an op's gradient function
  BELFRY_CHECK(mark.segment == 0,
               "[gradients] expected no open RecomputeScope, got one (at {}). Close the scope first: what is made "
               "inside is computed again for the gradients.",
               to_string(where));
  mark.pass = graph.outermost().next_mark();
}

GradientOfScope::GradientOfScope(const Node& node) { state().mark.segment = node.mark.segment; }

CopyOfScope::CopyOfScope(const Node& node) { state().mark = node.mark; }

}  // namespace belfry
