// A whole training as users write it: a model, a configuration with callbacks and a session, one line that trains.
// outside_trainer RUN_DIR
#include <belfry/belfry.h>

#include <cstdio>

namespace bf = belfry;

// Which of two halves of a row holds more: learnt in a few steps.
class Halves final : public bf::ModelDesc {
 public:
  std::vector<bf::TensorSpec> inputs() const override {
    return {{"row", bf::f32, {bf::kAny, 4}}, {"label", bf::i32, {bf::kAny}}};
  }

  bf::Tensor build_graph(bf::Inputs in) override {
    const bf::Tensor logits = in["row"] | bf::fully_connected("fc0", {.units = 8, .activation = bf::relu}) |
                              bf::fully_connected("fc1", {.units = 2});
    bf::prediction_incorrect(logits, in["label"], "incorrect");
    return bf::reduce_mean(bf::sparse_softmax_cross_entropy(logits, in["label"]), "cost");
  }

  std::unique_ptr<bf::Optimizer> optimizer() override {
    return bf::adam({.learning_rate = bf::hyper_param("learning_rate", 0.05f)});
  }
};

bf::Flow rows(std::uint64_t seed) {
  bf::RandomStream random(seed);
  std::vector<bf::DataPoint> points;
  for (int i = 0; i < 128; ++i) {
    std::vector<float> row;
    for (int k = 0; k < 4; ++k) row.push_back(static_cast<float>(random.uniform()));
    const int label = row[0] + row[1] > row[2] + row[3] ? 1 : 0;
    points.push_back({bf::Array::of<float>({4}, row), bf::Array(label)});
  }
  return bf::from_list(std::move(points));
}

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  bf::TrainConfig config{
      .model = bf::model<Halves>(),
      .dataflow = rows(1) | bf::batch(16),
      .callbacks = {bf::ModelSaver(),
                    bf::InferenceRunner(rows(2) | bf::batch(32),
                                        {bf::ScalarStats("cost"), bf::ClassificationError("incorrect")}),
                    bf::ScheduledHyperParamSetter("learning_rate", {{8, 0.01f}})},
      .session_config = {.devices = {{.threads = 1}}},
      .max_epoch = 10,
      .run_dir = argv[1]};
  bf::SimpleTrainer trainer;
  const std::string end = bf::launch_train_with_config(std::move(config), trainer);
  const double error = trainer.monitors().latest("validation_error").value_or(1);
  std::printf("%s after %lld steps: error %.3f\n", end.c_str(), static_cast<long long>(trainer.global_step()), error);
  return error < 0.1 && trainer.global_step() == 80 ? 0 : 1;
} catch (const bf::Interrupted& end) {
  return end.exit_code();
}
