// OnlinePredictor: a function from arrays to arrays, computed by a graph.
//
//   OnlinePredictor predict = trainer.get_predictor({"image"}, {"prob"});   // while the graph is being defined
//   Array probabilities = predict({image})[0];                              // once the session exists
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "belfry/session/session.h"

#pragma GCC visibility push(default)
namespace belfry {

class OnlinePredictor {
 public:
  OnlinePredictor() = default;  // empty: not to be called
  // `session` is called at each call: the session need not exist yet. Errors name inputs by `names`, one for each.
  OnlinePredictor(std::function<Session&()> session, Tensors inputs, Tensors outputs, std::vector<std::string> names);

  // Takes one array for each input; returns one for each output. Uses the session: call it on the session's thread,
  // between runs.
  std::vector<Array> operator()(const std::vector<Array>& inputs, const Location& where = Location::current()) const;

  const Tensors& inputs() const { return inputs_; }
  const Tensors& outputs() const { return outputs_; }

 private:
  std::function<Session&()> session_;
  Tensors inputs_, outputs_;
  std::vector<std::string> names_;
};

}  // namespace belfry
#pragma GCC visibility pop
