// The search for weight decay ends soon.
#include "belfry/engine/cpu/fuse/fusion.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

class FuseWorkTest : public IrTest {};

// Both sides of a product may be the same value: following both would look at a chain of n squares 2^n times, and so
// never end here.
TEST_F(FuseWorkTest, AChainOfSquaresIsLookedAtOnce) {
  const Variable w = var("w", {4}), x = var("x", {4});
  Tensor product = w;
  for (int i = 0; i < 60; ++i) product = product * product * 0.5f;
  Ir ir = simplified({.targets = {apply_sgd(w, 0.1f, tanh(x) + product)}});
  fuse(ir);
  EXPECT_FALSE(ir.nodes().empty());
}

}  // namespace
}  // namespace belfry
