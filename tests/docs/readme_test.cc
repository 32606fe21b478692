// The README's code on trainers, on a few images: ./dev docs checks that every block there stands here word for word.
#include <belfry/belfry.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "belfry/base/parallel.h"
#include "tests/dataflow/idx_files.h"

namespace bf = belfry;

namespace {

class FashionNet final : public bf::ModelDesc {
 public:
  std::vector<bf::TensorSpec> inputs() const override {
    return {{"image", bf::f32, {bf::kAny, 28, 28, 1}}, {"label", bf::i32, {bf::kAny}}};
  }

  bf::Tensor build_graph(bf::Inputs in) override {
    const auto conv = bf::conv2d({.filters = 16, .kernel = 3, .activation = bf::relu});
    const bf::Tensor logits = (in["image"] * 2.f - 1.f) | conv("conv0") | bf::max_pool("pool0", 2) | conv("conv1") |
                              bf::max_pool("pool1", 2) | bf::fully_connected("fc", {.units = 10});
    bf::prediction_incorrect(logits, in["label"], "incorrect");
    return bf::reduce_mean(bf::sparse_softmax_cross_entropy(logits, in["label"]), "cost");
  }

  std::unique_ptr<bf::Optimizer> optimizer() override {
    return bf::adam({.learning_rate = bf::hyper_param("learning_rate", 1e-3f)});
  }
};

bf::TrainConfig config() {
  return {.model = bf::model<FashionNet>(),
          .dataflow = bf::fashion_mnist("train") | bf::batch(128),
          .callbacks = {bf::ModelSaver(),
                        bf::InferenceRunner(bf::fashion_mnist("test") | bf::batch(250, bf::Remainder::keep),
                                            {bf::ScalarStats("cost"), bf::ClassificationError("incorrect")}),
                        bf::ScheduledHyperParamSetter("learning_rate", {{8, 1e-4f}})},
          .max_epoch = 10};
}

// The data and the run's directory are in one of the test's own.
class ReadmeTrainers : public testing::Test {
 protected:
  ReadmeTrainers() {
    write_split("train", 128);
    write_split("t10k", 10);
    setenv("BELFRY_DATA_DIR", files_.directory().c_str(), 1);
    std::filesystem::current_path(files_.directory());
  }
  ~ReadmeTrainers() override {
    std::filesystem::current_path(before_);
    unsetenv("BELFRY_DATA_DIR");
  }

 private:
  void write_split(const std::string& name, unsigned count) const {
    std::string pixels, labels;
    for (unsigned i = 0; i < count * 28 * 28; ++i) pixels += static_cast<char>(i * i % 251);
    for (unsigned i = 0; i < count; ++i) labels += static_cast<char>(i % 10);
    files_.write("fashion-mnist/" + name + "-images-idx3-ubyte", bf::idx_bytes(0x08, {count, 28, 28}, pixels));
    files_.write("fashion-mnist/" + name + "-labels-idx1-ubyte", bf::idx_bytes(0x08, {count}, labels));
  }
  bf::TemporaryFiles files_;
  std::filesystem::path before_ = std::filesystem::current_path();
};

}  // namespace

TEST_F(ReadmeTrainers, OneTower) {
  bf::SimpleTrainer trainer;
  bf::launch_train_with_config(config(), trainer);
  EXPECT_EQ(trainer.global_step(), 10);
  EXPECT_EQ(trainer.towers().training().size(), 1u);
}

TEST_F(ReadmeTrainers, OneLineMakesItTwo) {
  if (belfry::hardware_threads() < 2) GTEST_SKIP() << "two devices need two cores";
  bf::SyncMultiDeviceTrainerReplicated trainer(bf::cpu_devices(2));
  bf::launch_train_with_config(config(), trainer);
  EXPECT_EQ(trainer.global_step(), 10);
  EXPECT_EQ(trainer.towers().training().size(), 2u);
}
