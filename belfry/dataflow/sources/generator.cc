#include "belfry/dataflow/sources/generator.h"

#include "belfry/base/check.h"
#include "belfry/dataflow/cancel_flag.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/internal/rethrow.h"

namespace belfry {
namespace {

constexpr const char* kWho = "from_generator";

class GeneratorFlow final : public DataFlow {
 public:
  GeneratorFlow(std::function<Generator(std::uint64_t)> make, GeneratorOptions options)
      : make_(std::move(make)), options_(std::move(options)), identity_(identity_text(identity())) {}

  void start_epoch(std::uint64_t epoch) override {
    cancelled_.lift();
    generator_ = nullptr;
    ended_ = false;
    epoch_ = epoch;
    position_ = 0;
    pass_.begin();
  }

  std::uint64_t epoch() const override { return epoch_; }
  std::optional<std::int64_t> size() const override { return options_.size; }
  FlowIdentity identity() const override {
    return {.kind = options_.name,
            .parameters = options_.size ? FlowParameters{{"size", *options_.size}} : FlowParameters{}};
  }
  std::string describe() const override { return options_.name; }

  std::optional<DataPoint> next() override {
    pass_.check(kWho);
    if (ended_) return std::nullopt;
    cancelled_.check(*this);
    return pass_.reading(kWho, [this] {
      std::optional<DataPoint> point = generate();
      if (point) {
        ++position_;
      } else {
        finish();
      }
      return point;
    });
  }

  void cancel() override { cancelled_.set(); }

  FlowState state() const override {
    return {options_.name, {{"epoch", epoch_}, {"position", position_}}, {}, identity_};
  }

  void restore(const FlowState& state) override {
    state.expect_identity(identity_);
    state.expect(options_.name, 0);
    const std::uint64_t position = state.at("position");
    start_epoch(state.at("epoch"));
    pass_.reading(kWho, [&] {
      while (position_ < position)
        BELFRY_CHECK(next().has_value(),
                     "[restore] expected at least {} points of '{}' in epoch {}, got {}. The source has changed.",
                     position, options_.name, epoch_, position_);
    });
  }

 private:
  std::optional<DataPoint> generate() {
    try {
      if (!generator_) {
        generator_ = make_(epoch_);
        BELFRY_CHECK(generator_, "[from_generator] expected a generator, got an empty function.");
      }
      return generator_();
    } catch (...) {
      rethrow_from(std::current_exception(), fmt::format("[from_generator] the generator of '{}' failed at point {} of "
                                                         "epoch {}",
                                                         options_.name, position_, epoch_));
    }
  }

  void finish() {
    ended_ = true;
    generator_ = nullptr;  // with the files it may hold open
    const auto given = static_cast<std::int64_t>(position_);
    BELFRY_CHECK(options_.size.value_or(given) == given,
                 "[from_generator] expected {} points of '{}' in epoch {}, got {}. Give the correct size, or none.",
                 options_.size.value_or(0), options_.name, epoch_, given);
  }

  const std::function<Generator(std::uint64_t)> make_;
  const GeneratorOptions options_;
  const IdentityText identity_;
  Generator generator_;  // empty before the first point of a pass and after the last
  bool ended_ = false;
  PassGuard pass_;
  std::uint64_t epoch_ = 0, position_ = 0;
  CancelFlag cancelled_;
};

}  // namespace

Flow from_generator(std::function<Generator(std::uint64_t)> make, GeneratorOptions options) {
  BELFRY_CHECK(make, "[from_generator] expected a function that makes generators, got an empty one.");
  BELFRY_CHECK(options.size.value_or(0) >= 0, "[from_generator] expected a size of 0 or more points, got {}.",
               options.size.value_or(0));
  return std::make_shared<GeneratorFlow>(std::move(make), std::move(options));
}

}  // namespace belfry
