#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

using BatchNormLayerTest = NnTest;

TEST_F(BatchNormLayerTest, HasTrainedAndMovingVariables) {
  const TrainTowerContext tower("");
  const Tensor y = images(4) | batch_norm("bn");
  EXPECT_EQ(y.name(), "bn/output");
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"bn/gamma", "bn/beta"}));
  EXPECT_EQ(in(collection::kModelVariables), (Names{"bn/mean/EMA", "bn/variance/EMA"}));
  EXPECT_EQ(in(collection::kGlobalVariables), (Names{"bn/gamma", "bn/beta", "bn/mean/EMA", "bn/variance/EMA"}));
  for (const Variable& v : graph.variables()) EXPECT_EQ(v.shape(), Shape({4}));
  EXPECT_EQ(variable("bn/variance/EMA").initial_value().node()->attributes.get<double>("value"), 1);
}

TEST_F(BatchNormLayerTest, CenterAndScaleCanBeLeftOut) {
  const TrainTowerContext tower("");
  images() | batch_norm("a", {.center = false}) | batch_norm("b", {.scale = false});
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"a/gamma", "b/beta"}));
}

TEST_F(BatchNormLayerTest, TheMainTowersUpdatesGoToTheCollectionAndOthersNowhere) {
  const Tensor x = images();
  {
    const TrainTowerContext tower("", {.total = 2});
    EXPECT_EQ((x | batch_norm("bn")).node()->def->name, "BatchNorm");
  }
  const auto updates = graph.collections().operations(collection::kUpdateOps);
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_EQ(updates[0].node()->inputs[0].name(), "bn/mean/EMA");
  EXPECT_EQ(updates[1].node()->inputs[0].name(), "bn/variance/EMA");
  {
    const TrainTowerContext tower("tower1", {.index = 1, .total = 2});
    x | batch_norm("bn");
    EXPECT_TRUE(tower.collected_operations(collection::kUpdateOps).empty());
  }
  {
    const PredictTowerContext tower("predict");
    EXPECT_EQ((x | batch_norm("bn")).node()->def->name, "BatchNormInference");
  }
  EXPECT_EQ(graph.collections().operations(collection::kUpdateOps).size(), 2u);
}

TEST_F(BatchNormLayerTest, InternalUpdatesHappenWhenTheOutputIsComputed) {
  const TrainTowerContext tower("");
  const Tensor y = images() | batch_norm("bn", {.ema_update = EmaUpdate::internal, .activation = relu});
  EXPECT_EQ(y.name(), "bn/output");
  EXPECT_EQ(graph.collections().size(collection::kUpdateOps), 0u);
  int assignments = 0;
  for (const Operation& op : graph.operations())
    if (op.type() == "Assign") assignments += depends(y.node(), op.node());
  EXPECT_EQ(assignments, 2);
}

TEST_F(BatchNormLayerTest, SkippedUpdatesDoNotExist) {
  const TrainTowerContext tower("");
  images() | batch_norm("bn", {.ema_update = EmaUpdate::skip});
  for (const Operation& op : graph.operations()) EXPECT_NE(op.type(), "Assign");
}

TEST_F(BatchNormLayerTest, TrainingCanBeDecidedByHand) {
  EXPECT_EQ((images() | batch_norm("a", {.training = true})).node()->def->name, "BatchNorm");
  EXPECT_EQ(graph.collections().size(collection::kUpdateOps), 2u);
  const TrainTowerContext tower("");
  EXPECT_EQ((images() | batch_norm("b", {.training = false})).node()->def->name, "BatchNormInference");
  EXPECT_EQ(graph.collections().size(collection::kUpdateOps), 2u);
}

TEST_F(BatchNormLayerTest, MistakesNameTheLayer) {
  EXPECT_TRUE(contains(error_of([&] { images() | batch_norm("bn"); }),
                       "[batch_norm 'bn'] expected a tower, which says whether it trains, got none"));
  const TrainTowerContext tower("");
  const auto expect = [](const std::string& text, const std::string& complaint, const std::string& remedy) {
    EXPECT_EQ(text.find(complaint), 0u) << text;
    EXPECT_TRUE(text.ends_with("). " + remedy)) << text;
  };
  expect(error_of([&] { images() | batch_norm("bn1", {.momentum = 2}); }),
         "[batch_norm 'bn1'] expected .momentum in [0, 1], got 2",
         "It is the fraction of the old average that stays: 0.9 is usual.");
  expect(error_of([&] { placeholder(f32, {3}) | batch_norm("bn2"); }),
         "[batch_norm 'bn2'] expected a batch of rank 2 or more", "Use expand_dims() to make a batch of it.");
}

}  // namespace
}  // namespace belfry
