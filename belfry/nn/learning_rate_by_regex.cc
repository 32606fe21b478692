#include "belfry/nn/learning_rate_by_regex.h"

#include "belfry/nn/proxy_optimizer.h"

namespace belfry {
namespace {

class LearningRateByRegex final : public ProxyOptimizer {
 public:
  LearningRateByRegex(std::unique_ptr<Optimizer> wrapped, const std::vector<ScaleByRegex>& scales,
                      const Location& where)
      : ProxyOptimizer(std::move(wrapped), "learning_rate_by_regex", where),
        scales_("learning_rate_by_regex", scales, where) {}

  GradientsAndVariables process(const GradientsAndVariables& gradients, const Location& where) override {
    scales_.expect_matches(gradients);
    GradientsAndVariables scaled = gradients;
    for (GradientAndVariable& item : scaled) item.learning_rate_scale *= scales_.of(item.variable);
    return wrapped().process(scaled, where);
  }

 private:
  ScalesByRegex scales_;
};

}  // namespace

std::unique_ptr<Optimizer> learning_rate_by_regex(std::unique_ptr<Optimizer> optimizer,
                                                  const std::vector<ScaleByRegex>& scales, const Location& where) {
  return std::make_unique<LearningRateByRegex>(std::move(optimizer), scales, where);
}

}  // namespace belfry
