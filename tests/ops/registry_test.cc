// What every registered op must have. A new op fails here until it is complete.
#include <set>

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/graph/op_def.h"
#include "tests/ops/device_row.h"
#include "tests/ops/gradient_check.h"

namespace belfry {
namespace {

// The compiler itself provides these values.
const std::set<std::string> kNoKernel{"Constant", "OfShape", "Placeholder", "QueueTake", "Variable"};
// Nothing of their own to check numerically: the gradient is a user's function, or refused.
const std::set<std::string> kNoRow{"CustomGradient", "ReadVariable", "WhileGrad"};

// Gradients of first order only: a second time is an error that says so.
const std::set<std::string> kRegistryFirstOrder{"CtcLoss",      "GruSequence",      "GruSequenceGrad",
                                                "LstmSequence", "LstmSequenceGrad", "While"};

TEST(Registry, EveryOpSaysWhatItIsInOneLine) {
  for (const OpDef* op : registered_ops()) {
    EXPECT_FALSE(op->doc.empty()) << op->name << " has no .doc(...)";
    EXPECT_EQ(op->doc.find('\n'), std::string::npos) << op->name;
  }
}

TEST(Registry, EveryOpWithOutputsHasAShapeRule) {
  for (const OpDef* op : registered_ops())
    if (!op->outputs.empty()) {
      EXPECT_TRUE(static_cast<bool>(op->shape)) << op->name << " has no .shape(...)";
    }
}

TEST(Registry, EveryOpHasAGradientOrSaysThatItHasNone) {
  for (const OpDef* op : registered_ops())
    EXPECT_NE(static_cast<bool>(op->gradient), !op->differentiable)
        << op->name << " needs either .gradient(...) or .not_differentiable()";
}

TEST(Registry, EveryOpHasAKernel) {
  for (const OpDef* op : registered_ops())
    EXPECT_TRUE(find_kernel(op->kind) != nullptr || op->host_kernel || kNoKernel.contains(op->name))
        << op->name << " has no kernel";
}

TEST(Registry, EveryDifferentiableOpHasARowInTheGradientCheck) {
  for (const OpDef* op : registered_ops())
    if (op->gradient) {
      EXPECT_TRUE(covered_ops().contains(op->name) || kNoRow.contains(op->name))
          << op->name << " is covered by no gradient_row(...)";
    }
}

// A gradient penalty differentiates twice: which ops do not allow it is a decision, not an oversight.
TEST(Registry, EveryOpIsDifferentiableTwiceOrListedHere) {
  for (const OpDef* op : registered_ops())
    if (op->gradient && !kNoRow.contains(op->name)) {
      EXPECT_NE(twice_covered_ops().contains(op->name), kRegistryFirstOrder.contains(op->name))
          << op->name << " needs either a gradient_row(...) of second order or a place in kRegistryFirstOrder";
    }
}

// A gradient_row() runs on both too. Ops with a kernel of their own are other tests'.
TEST(Registry, EveryOpHasARowOnBothBackends) {
  for (const OpDef* op : registered_ops())
    EXPECT_TRUE(covered_ops().contains(op->name) || device_row_ops().contains(op->name) || op->host_kernel)
        << op->name << " needs a device_row(...), or a gradient_row(...): nothing shows that it means the same on a "
        << "device that is not the CPU";
}

TEST(Registry, EveryCoveredOpExists) {
  for (const std::string& name : covered_ops()) EXPECT_NE(find_op(name), nullptr) << name;
  for (const std::string& name : device_row_ops()) EXPECT_NE(find_op(name), nullptr) << name;
  for (const auto& [name, reason] : never_run())
    EXPECT_TRUE(covered_ops().contains(name) || device_row_ops().contains(name))
        << name << ", which is never run as " << reason << ", has no row";
}

}  // namespace
}  // namespace belfry
