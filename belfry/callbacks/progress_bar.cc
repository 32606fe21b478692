#include "belfry/callbacks/progress_bar.h"

#include "belfry/base/check.h"
#include "belfry/loop/trainer.h"

namespace belfry {

void ProgressBar::setup_graph() {
  for (const std::string& name : options_.names) {
    const Tensor tensor = trainer().get_tensor(name);
    BELFRY_CHECK(tensor.rank() == 0, "[ProgressBar] expected '{}' to be a scalar, got {}. Reduce it first.", name,
                 to_string(tensor));
    fetches_.emplace_back(tensor);
  }
  line_.emplace(options_.stream, options_.bar);
}

void ProgressBar::before_epoch() {
  begin_ = monotonic_seconds();
  line_->restart();
}

bool ProgressBar::last_step() const { return trainer().local_step() + 1 >= trainer().steps_per_epoch(); }

bool ProgressBar::due() const { return last_step() || line_->due(); }

HookRequest ProgressBar::before_run(const RunContext& context) {
  if (fetches_.empty() || context.fetches.empty() || !due()) return {};
  return {.fetches = fetches_};
}

void ProgressBar::after_run(const RunContext&, const RunValues& values) {
  if (values.empty()) return;
  values_.clear();
  for (const Array& value : values) values_.push_back(value.item());
}

std::string ProgressBar::shown(std::int64_t done) const {
  std::string out = fmt::format("epoch {} ", trainer().epoch_num());
  out += progress_text(
      {.done = done, .total = trainer().steps_per_epoch(), .seconds = monotonic_seconds() - begin_, .unit = "steps"});
  for (std::size_t i = 0; i < values_.size(); ++i) out += fmt::format("  {} {:.4g}", options_.names[i], values_[i]);
  return out;
}

void ProgressBar::trigger_step() {
  if (last_step() || !due()) return;
  line_->draw(shown(trainer().local_step() + 1));
}

void ProgressBar::after_epoch() {
  line_->clear();
  const std::int64_t steps = trainer().steps_per_epoch();
  if (steps == 0) return;
  std::fputs((shown(steps) + fmt::format("  {:.1f} s\n", monotonic_seconds() - begin_)).c_str(), options_.stream);
  std::fflush(options_.stream);
}

void ProgressBar::after_train() {
  if (line_) line_->clear();
}

}  // namespace belfry
