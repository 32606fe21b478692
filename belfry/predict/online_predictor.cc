#include "belfry/predict/online_predictor.h"

#include "belfry/base/check.h"

namespace belfry {

OnlinePredictor::OnlinePredictor(std::function<Session&()> session, Tensors inputs, Tensors outputs,
                                 std::vector<std::string> names)
    : session_(std::move(session)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      names_(std::move(names)) {}

std::vector<Array> OnlinePredictor::operator()(const std::vector<Array>& inputs, const Location& where) const {
  BELFRY_CHECK(session_ != nullptr, "[predictor] expected one from get_predictor(), got an empty one (at {}).",
               to_string(where));
  BELFRY_CHECK(inputs.size() == inputs_.size(), "[predictor] expected {} inputs, got {} (at {}).", inputs_.size(),
               inputs.size(), to_string(where));
  Feeds feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    BELFRY_CHECK(inputs[i].dtype() == inputs_[i].dtype() && compatible(inputs[i].shape(), inputs_[i].shape()),
                 "[predictor] expected {} {} for input '{}', got {} {} (at {}).", name_of(inputs_[i].dtype()),
                 to_string(inputs_[i].shape()), names_[i], name_of(inputs[i].dtype()), to_string(inputs[i].shape()),
                 to_string(where));
    feeds.emplace_back(inputs_[i], inputs[i]);
  }
  const SessionAlone alone(session_(), where);
  return session_().run(std::vector<Fetch>(outputs_.begin(), outputs_.end()), feeds, {}, where);
}

}  // namespace belfry
