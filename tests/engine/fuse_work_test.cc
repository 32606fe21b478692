// How much the search for weight decay has to look at, counted: this program's uniform_constant() stands in front of
// the library's, and the search asks it for every factor of every product that it looks at.
#include <dlfcn.h>

#include <cstdint>

#include "belfry/engine/cpu/fuse/fusion.h"
#include "belfry/graph/gradients.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {
std::int64_t looked_at = 0;
}  // namespace

std::optional<double> uniform_constant(const Ir& ir, ValueId value) {
  using Function = std::optional<double> (*)(const Ir&, ValueId);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "_ZN6belfry16uniform_constantERKNS_2IrEi"));
  ++looked_at;
  return real(ir, value);
}

namespace {

class FuseWorkTest : public IrTest {
 protected:
  // Of fuse() alone.
  std::int64_t work_of(const Request& request) const {
    Ir ir = simplified(request);
    looked_at = 0;
    fuse(ir);
    return looked_at;
  }

  // n variables, each with an L2 penalty; the update of all.
  Request penalised(int n) {
    std::vector<Variable> variables;
    Tensor loss = constant(Array(0.f));
    for (int i = 0; i < n; ++i) {
      const std::string name = "w" + std::to_string(n) + "_" + std::to_string(i);
      variables.push_back(var(name.c_str(), {4}));
      loss = loss + reduce_sum(tanh(variables.back())) + reduce_sum(square(variables.back())) * 0.5f;
    }
    const Tensors g = gradients(loss, variables);
    Request request;
    for (int i = 0; i < n; ++i)
      request.targets.emplace_back(
          apply_sgd(variables[static_cast<std::size_t>(i)], 0.1f, g[static_cast<std::size_t>(i)]));
    return request;
  }
};

TEST_F(FuseWorkTest, GrowsWithTheNumberOfPenalisedVariables) {
  const std::int64_t few = work_of(penalised(10)), many = work_of(penalised(40));
  EXPECT_GE(few, 10) << "the count is in front of the library's";
  EXPECT_EQ(many, 4 * few);
}

// Both sides of a product may be the same value: following both would look at a chain of n squares 2^n times.
TEST_F(FuseWorkTest, GrowsWithTheLengthOfAChainOfProducts) {
  const Variable w = var("w", {4}), x = var("x", {4});
  std::vector<std::int64_t> work;
  for (const int length : {5, 10, 20}) {
    Tensor product = w;
    for (int i = 0; i < length; ++i) product = product * product * 0.5f;
    work.push_back(work_of({.targets = {apply_sgd(w, 0.1f, tanh(x) + product)}}));
  }
  EXPECT_GE(work[0], 1) << "the count is in front of the library's";
  EXPECT_LE(work[1], 2 * work[0]);
  EXPECT_LE(work[2], 4 * work[0]);
}

}  // namespace
}  // namespace belfry
