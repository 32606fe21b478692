// Learns to balance a pole by policy gradients (REINFORCE): a trainer that plays and learns in its own run_step().
#include <belfry/belfry.h>
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "tools/command_line.h"
#include "tools/resume_option.h"

namespace bf = belfry;

namespace {

constexpr int kMaxSteps = 200;  // of an episode
constexpr double kDiscount = 0.99;

// A cart on a rail, with a pole that stands on it; every 0.02 s it is pushed to the left or to the right. It has fallen
// when the pole leans by more than 12 degrees or the cart is more than 2.4 m from the middle.
class CartPole {
 public:
  explicit CartPole(bf::RandomStream& random) {
    for (double* value : {&x_, &speed_, &angle_, &turn_}) *value = 0.1 * random.uniform() - 0.05;
  }

  std::array<double, 4> observe() const { return {x_, speed_, angle_, turn_}; }
  bool fallen() const { return std::abs(x_) > 2.4 || std::abs(angle_) > 12 * 3.14159265 / 180; }

  void push(bool right) {
    constexpr double gravity = 9.8, cart = 1.0, pole = 0.1, half_length = 0.5, force = 10, tau = 0.02;
    const double cosine = std::cos(angle_), sine = std::sin(angle_);
    const double pushed = ((right ? force : -force) + pole * half_length * turn_ * turn_ * sine) / (cart + pole);
    const double turning =
        (gravity * sine - cosine * pushed) / (half_length * (4.0 / 3.0 - pole * cosine * cosine / (cart + pole)));
    const double acceleration = pushed - pole * half_length * turning * cosine / (cart + pole);
    x_ += tau * speed_;
    speed_ += tau * acceleration;
    angle_ += tau * turn_;
    turn_ += tau * turning;
  }

 private:
  double x_ = 0, speed_ = 0, angle_ = 0, turn_ = 0;
};

const std::vector<bf::TensorSpec> kSignature{
    {"observation", bf::f32, {bf::kAny, 4}}, {"action", bf::i32, {bf::kAny}}, {"advantage", bf::f32, {bf::kAny}}};

// The tower function: the policy, and a cost whose gradient makes an action likelier the better it turned out to be.
// "draw" is an action for each observation, drawn again in every run.
bf::Tensor policy(const bf::Inputs& in) {
  const bf::Tensor logits = in["observation"] | bf::fully_connected("fc0", {.units = 32, .activation = bf::tanh}) |
                            bf::fully_connected("fc1", {.units = 2});
  bf::categorical(logits, 1, "draw");
  return bf::reduce_mean(bf::sparse_softmax_cross_entropy(logits, in["action"]) * in["advantage"], "cost");
}

// A step: some carts play an episode each, then the policy learns from what they did.
class ReinforceTrainer final : public bf::TowerTrainer {
 public:
  ReinforceTrainer(int carts, float learning_rate, std::uint64_t seed) : carts_(carts), random_(seed) {
    const bf::InputSourcePtr input = bf::PlaceholderInput();  // run_step() feeds what was played
    register_callbacks(input->setup(kSignature));
    set_tower_func(policy, kSignature);
    {
      const bf::TrainTowerContext tower("");
      inputs_ = input->get_input_tensors();
      const bf::Tensor cost = tower_func()(inputs_)[0];
      train_op = bf::adam({.learning_rate = learning_rate})->minimize(cost);
      register_callback(bf::CostGuard({{train_op, {cost}}}));  // a cost that is NaN or infinite ends training
    }
    draw_ = get_predictor({"observation"}, {"draw"});
  }

  void run_step() override {
    // Not hooked: a predictor runs session(). Hundreds of small runs that train nothing must not be counted as steps,
    // nor may callbacks fetch a cost along with them, which would need actions that do not exist yet.
    const Episodes played = play();
    // Hooked: this run is the step of training. Callbacks take part in it, and global_step counts it.
    hooked_session().run(
        train_op,
        {{inputs_[0], played.observations}, {inputs_[1], played.actions}, {inputs_[2], advantages(played.lengths)}});
    monitors().put_scalar("mean_return", mean(played.lengths));
  }

 private:
  // By time and cart: [kMaxSteps * carts, ...]. The number of rows is fixed, so that one plan serves every step; rows
  // after the end of an episode have advantage 0.
  struct Episodes {
    bf::Array observations, actions;
    std::vector<int> lengths;  // also the returns: a point for each push before the fall
  };

  Episodes play() {
    Episodes out{bf::Array::zeros(bf::f32, {kMaxSteps * carts_, 4}), bf::Array::zeros(bf::i32, {kMaxSteps * carts_}),
                 std::vector<int>(static_cast<std::size_t>(carts_))};
    std::vector<CartPole> all;
    for (int i = 0; i < carts_; ++i) all.emplace_back(random_);
    bf::Array now = bf::Array::zeros(bf::f32, {carts_, 4});
    for (int t = 0; t < kMaxSteps; ++t) {
      for (int i = 0; i < carts_; ++i)
        for (int k = 0; k < 4; ++k) now.set_item(i * 4 + k, all[i].observe()[k]);
      const bf::Array actions = draw_({now})[0];
      for (int i = 0; i < carts_; ++i) {
        if (all[i].fallen()) continue;
        for (int k = 0; k < 4; ++k) out.observations.set_item((t * carts_ + i) * 4 + k, now.item(i * 4 + k));
        out.actions.set_item(t * carts_ + i, actions.item(i));
        all[i].push(actions.item(i) == 1);
        ++out.lengths[i];
      }
    }
    return out;
  }

  // The discounted return from each moment on, with mean 0 and deviation 1 over all moments that were played.
  bf::Array advantages(const std::vector<int>& lengths) const {
    bf::Array out = bf::Array::zeros(bf::f32, {kMaxSteps * carts_});
    const auto to_go = [](int steps) { return (1 - std::pow(kDiscount, steps)) / (1 - kDiscount); };
    double sum = 0, squares = 0, count = 0;
    for (const int length : lengths)
      for (int t = 0; t < length; ++t) {
        sum += to_go(length - t);
        squares += to_go(length - t) * to_go(length - t);
        ++count;
      }
    const double deviation = std::sqrt(squares / count - sum / count * sum / count) + 1e-6;
    for (int i = 0; i < carts_; ++i)
      for (int t = 0; t < lengths[i]; ++t)
        out.set_item(t * carts_ + i, (to_go(lengths[i] - t) - sum / count) / deviation);
    return out;
  }

  static double mean(const std::vector<int>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }

  int carts_;
  bf::RandomStream random_;
  bf::Tensors inputs_;
  bf::OnlinePredictor draw_;
};

struct Options {
  int epochs = 10, steps = 10, carts = 16;
  float rate = 0.01f;
  std::uint64_t seed = 1;
  std::string resume = "never";
};

void train(const Options& options) {
  bf::Graph graph;
  graph.set_seed(options.seed);
  const bf::GraphScope scope(graph);
  ReinforceTrainer trainer(options.carts, options.rate, options.seed);
  bf::TrainOptions training{.callbacks = {bf::ModelSaver()},
                            .session_config = {.devices = {{1}}},  // too little work to share
                            .steps_per_epoch = options.steps,
                            .max_epoch = options.epochs};
  belfry::tools::resume(training, options.resume);
  trainer.train_with_defaults(std::move(training));
  const auto& returns = trainer.monitors().history("mean_return");
  fmt::print("mean return {:.4f}, at first {:.4f}\n", returns.back().value, returns.front().value);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  belfry::tools::CommandLine command("Learns to balance a pole by policy gradients", "reinforce");
  command.number("--epochs", options.epochs, {1, 100'000}, "epochs");
  command.number("--steps", options.steps, {1, 100'000}, "steps per epoch");
  command.number("--carts", options.carts, {1, 100'000}, "episodes played per step");
  command.number("--rate", options.rate, {}, "learning rate");
  command.seed("--seed", options.seed, "of weights, initial states and actions");
  command.resume(options.resume);
  return command.run(argc, argv, [&] { train(options); });
}
