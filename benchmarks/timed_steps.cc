#include "benchmarks/timed_steps.h"

#include "benchmarks/options.h"

namespace belfry::bench {

Tensors waiting_inputs(const Suite& suite) {
  Tensors out;
  for (std::size_t i = 0; i < suite.signature.size(); ++i) {
    const Array& data = suite.batches[0][i];
    out.push_back(new_variable("waiting_" + suite.signature[i].name,
                               {.shape = data.shape(),
                                .dtype = data.dtype(),
                                .initializer = [data](const Shape&, DType) { return constant(data); },
                                .collections = {std::string(collection::kLocalVariables)}}));
  }
  return out;
}

BareStep::BareStep(const Suite& suite, int threads) {
  const GraphScope scope(*graph_);
  const TrainTowerContext tower("");
  const Operation train = suite.optimizer()->minimize(suite.cost(Inputs(suite.signature, waiting_inputs(suite))));
  session_ = std::make_unique<Session>(*graph_, SessionConfig{.devices = {{threads}}});
  session_->initialize();
  fill_parameters(suite, *session_);
  step_ = session_->make_callable({graph_->get_tensor_by_name("loss"), train});
}

double BareStep::seconds(const StepCount& steps) const {
  for (int k = 0; k < steps.warmup; ++k) step_();
  const double begin = now();
  for (int k = 0; k < steps.timed; ++k) step_();
  return (now() - begin) / steps.timed;
}

void TimedSteps::trigger_step() {
  const std::int64_t done = trainer().local_step() + 1;
  if (done == steps_.warmup) begin_ = now();
  if (done == steps_.warmup + steps_.timed) seconds_ = (now() - begin_) / steps_.timed;
}

}  // namespace belfry::bench
