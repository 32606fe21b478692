#include "benchmarks/plain_step.h"

namespace belfry::bench {

PlainStep make_plain_step(const Suite& suite) {
  PlainStep out;
  const GraphScope scope(*out.graph);
  const TrainTowerContext tower("");
  for (const TensorSpec& spec : suite.signature) out.inputs.push_back(placeholder(spec));
  out.train = suite.step ? suite.step(out.inputs)
                         : suite.optimizer()->minimize(suite.cost(Inputs(suite.signature, out.inputs)));
  out.loss = out.graph->get_tensor_by_name("loss");
  return out;
}

Feeds feeds_of(const Suite& suite, const PlainStep& plain, int step) {
  const DataPoint& batch = batch_of(suite, step);
  Feeds feeds;
  for (std::size_t i = 0; i < batch.size(); ++i) feeds.emplace_back(plain.inputs[i], batch[i]);
  return feeds;
}

}  // namespace belfry::bench
