// Trains a small ResNet on a folder of images, one folder for each class; --from starts with another run's weights.
#include <belfry/belfry.h>
#include <fmt/core.h>

#include "tools/command_line.h"
#include "tools/resume_option.h"

namespace bf = belfry;

namespace {

class ResNet final : public bf::ModelDesc {
 public:
  ResNet(int classes, int size, float rate) : classes_(classes), size_(size), rate_(rate) {}

  std::vector<bf::TensorSpec> inputs() const override {
    return {{"image", bf::f32, {bf::kAny, size_, size_, 3}}, {"label", bf::i32, {bf::kAny}}};
  }

  bf::Tensor build_graph(bf::Inputs in) override {
    bf::Tensor x = conv_bn(in["image"], "conv0", 16, 1) | bf::relu;
    for (const int width : {16, 32, 64}) x = block(x, fmt::format("block{}", width), width);
    const bf::Tensor logits = x | bf::global_avg_pool("pool") | bf::fully_connected("head", {.units = classes_});
    bf::prediction_incorrect(logits, in["label"], "incorrect");
    const bf::Tensor loss = bf::reduce_mean(bf::sparse_softmax_cross_entropy(logits, in["label"]), "cross_entropy");
    const bf::Tensor cost = bf::add(loss, bf::regularize_cost(".*/W", bf::l2(1e-4f)), "cost");
    bf::add_moving_summary({loss, cost});
    return cost;
  }

  std::unique_ptr<bf::Optimizer> optimizer() override {
    return bf::momentum({.learning_rate = bf::hyper_param("learning_rate", rate_), .momentum = 0.9});
  }

 private:
  static bf::Tensor conv_bn(const bf::Tensor& x, const std::string& name, int width, int stride) {
    return x | bf::conv2d(name, {.filters = width, .kernel = 3, .strides = stride, .use_bias = false}) |
           bf::batch_norm(name + "_bn");
  }
  static bf::Tensor block(const bf::Tensor& x, const std::string& name, int width) {
    const bf::VariableScope scope(name);
    const int stride = width == 16 ? 1 : 2;
    const bf::Tensor y = conv_bn(conv_bn(x, "conv0", width, stride) | bf::relu, "conv1", width, 1);
    return bf::relu(y + (stride == 1 ? x : conv_bn(x, "shortcut", width, stride)));
  }

  int classes_, size_;
  float rate_;
};

struct Options {
  std::string data, from, run_dir = "train_log/image_folder", resume = "never";
  int epochs = 10, batch = 64, size = 32, threads = 2;
  float rate = 0.1f;
};

// The mean and deviation of CIFAR-10's pixels.
bf::Augmentor normalized() { return bf::normalize({0.491f, 0.482f, 0.447f}, {0.247f, 0.243f, 0.262f}); }

void train(const Options& options) {
  const std::string train_folder = options.data + "/train", test_folder = options.data + "/test";
  const int classes = static_cast<int>(bf::image_folder_classes(train_folder).size());
  const bf::Augmentor augmentor =
      bf::random_resized_crop(options.size, {.scale = {0.5, 1}}) | bf::flip_horizontal() | normalized();
  bf::TrainConfig config{
      .model = bf::model<ResNet>(classes, options.size, options.rate),
      .dataflow = bf::image_folder(train_folder) | bf::shuffle(1) |
                  bf::augment_images(augmentor, {.threads = options.threads}) | bf::batch(options.batch),
      .callbacks = {bf::ModelSaver({.keep = 1}),
                    bf::InferenceRunner(
                        bf::image_folder(test_folder) |
                            bf::augment_images(bf::resize(options.size) | normalized(), {.threads = options.threads}) |
                            bf::batch(250, bf::Remainder::keep),
                        {bf::ScalarStats("cross_entropy"), bf::ClassificationError("incorrect")}),
                    bf::MinSaver("validation_error")},
      .max_epoch = options.epochs,
      .run_dir = options.run_dir};
  // Weights and batch statistics; the head is new if the number of classes differs.
  if (!options.from.empty()) config.session_init = bf::SaverRestore(options.from, {.skip_mismatched = true});
  belfry::tools::resume(config, options.resume);
  bf::SimpleTrainer trainer;
  bf::launch_train_with_config(std::move(config), trainer);
  fmt::print("{} classes, validation error {:.4f}\n", classes, *trainer.monitors().latest("validation_error"));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  belfry::tools::CommandLine command("Trains a small ResNet on a folder of images", "image_folder");
  command.required("data", options.data, "has train/CLASS/*.jpg and test/CLASS/*.jpg");
  command.text("--from", options.from, "start with the weights of this checkpoint, or of this run's folder");
  command.text("--run-dir", options.run_dir, "where checkpoints and metrics go");
  command.number("--epochs", options.epochs, {1, 1'000'000}, "passes over the training set");
  command.number("--batch", options.batch, {1, 1'000'000}, "images per step");
  command.number("--size", options.size, {8, 4096}, "side of an image, in pixels");
  command.number("--rate", options.rate, {}, "learning rate");
  command.number("--threads", options.threads, {0, 1024}, "threads that read and augment");
  command.resume(options.resume);
  return command.run(argc, argv, [&] { train(options); });
}
