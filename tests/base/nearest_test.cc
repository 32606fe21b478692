#include "belfry/base/internal/nearest.h"

#include <gtest/gtest.h>

namespace belfry {
namespace {

using Names = std::vector<std::string>;

TEST(EditDistance, CountsInsertionsRemovalsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("sitting", "kitten"), 3u);
  EXPECT_EQ(edit_distance("loss", "lsos"), 1u);
  EXPECT_EQ(edit_distance("conv0/W", "conv0/W"), 0u);
}

TEST(NearestNames, NearestFirstTiesByNameAndNoMoreThanAsked) {
  const Names names{"conv2/W", "conv1/W", "fc0/b", "conv1/b", "conv123/W"};
  EXPECT_EQ(nearest_names("conv0/W", names, 2), (Names{"conv1/W", "conv2/W"}));
  EXPECT_EQ(nearest_names("conv1/w", names, 2), (Names{"conv1/W", "conv1/b"}));
}

TEST(NearestNames, ScopesInFrontAndCaseCountAsOneEdit) {
  const Names names{"replica_three/block/conv0/W", "conv0", "CONV0/w"};
  EXPECT_EQ(nearest_names("conv0/W", names), (Names{"CONV0/w", "replica_three/block/conv0/W", "conv0"}));
  EXPECT_EQ(nearest_names("replica_three/conv0", names, 1), (Names{"conv0"}));
  EXPECT_TRUE(nearest_names("v0/W", Names{"some/very/long/conv0/W"}).empty()) << "half a component is no scope";
}

TEST(NearestNames, ALayersNameStandsForItsOutput) {
  EXPECT_EQ(
      nearest_names("encoder/mean", Names{"encoder/men", "encoder/mean/MatMul", "encoder/mean/output", "mean"}, 2),
      (Names{"encoder/mean/output", "encoder/men"}));
  EXPECT_EQ(nearest_names("fc", Names{"fc0/output", "fc/output"}), (Names{"fc/output"})) << "far, by its letters";
}

TEST(NearestNames, LeavesOutWhatIsFarAndRepeated) {
  EXPECT_TRUE(nearest_names("accuracy", Names{"zzz", "cost", "train_error_of_everything"}).empty());
  EXPECT_EQ(nearest_names("cots", Names{"cost", "cost"}), (Names{"cost"}));
  EXPECT_TRUE(nearest_names("x", Names{}).empty());
}

TEST(DidYouMean, ReadsAsASentence) {
  EXPECT_EQ(did_you_mean("loss1", Names{"loss2"}), " Did you mean 'loss2'?");
  EXPECT_EQ(did_you_mean("loss1", Names{"loss2", "loss3"}), " Did you mean 'loss2' or 'loss3'?");
  EXPECT_EQ(did_you_mean("loss1", Names{"loss2", "loss3", "loss4"}), " Did you mean 'loss2', 'loss3' or 'loss4'?");
  EXPECT_EQ(did_you_mean("loss1", Names{"qqqqqqqqqqqqq"}), "");
}

}  // namespace
}  // namespace belfry
