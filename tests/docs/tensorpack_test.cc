// The code of docs/tensorpack.md: ./dev docs checks that every block there stands here word for word.
#include <belfry/belfry.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/files.h"

namespace bf = belfry;

namespace {

// What the steps read.
class Seen final : public bf::Callback {
 public:
  explicit Seen(std::vector<int>& words) : words_(words) {}
  bf::HookRequest before_run(const bf::RunContext&) override { return {.fetches = {"seen"}}; }
  void after_run(const bf::RunContext&, const bf::RunValues& values) override {
    for (std::int64_t i = 0; i < values[0].elements(); ++i) words_.push_back(static_cast<int>(values[0].item(i)));
  }

 private:
  std::vector<int>& words_;
};

TEST(TensorpackPages, ATensorInputReadsATextInItsOrder) {
  const belfry::testing_support::TempDir dir;
  constexpr std::int64_t batches = 3, rows = 2, words = 4;
  std::vector<int> numbers(batches * rows * words);
  std::iota(numbers.begin(), numbers.end(), 0);
  const bf::Array text = bf::Array::of<int>({batches, rows, words}, numbers);
  const auto cost = [](const bf::Inputs& in) {
    bf::identity(in["words"], "seen");
    return bf::reduce_mean(bf::cast(in["words"], bf::f32) * bf::get_variable("w", {}), "cost");
  };
  const auto optimizer = [] { return bf::sgd({.learning_rate = 0.1f}); };

  bf::SimpleTrainer trainer;
  // `text` is i32 [batches, rows, words]: row r of a batch continues in row r of the next one.
  const auto read = [&] {
    const bf::Tensor turn = bf::floormod(bf::get_global_step(), bf::constant(batches));
    return bf::Tensors{bf::gather(bf::constant(text), turn)};
  };
  trainer.setup_graph({{"words", bf::i32, {rows, words}}}, bf::TensorInput(read, batches), cost, optimizer);

  std::vector<int> seen;
  trainer.train({.callbacks = {Seen(seen)}, .max_epoch = 2, .run_dir = dir.path()});
  EXPECT_EQ(trainer.steps_per_epoch(), batches);
  std::vector<int> twice = numbers;
  twice.insert(twice.end(), numbers.begin(), numbers.end());
  EXPECT_EQ(seen, twice);
}

}  // namespace
