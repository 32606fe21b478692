// Recurrent cells: one step of a recurrent network, a function of an input and a state. rnn.h runs them over time.
//
//   const RnnCell net = cell::stacked("rnn", {cell::lstm("layer0", {.units = 200}),
//                                             cell::dropout(cell::lstm("layer1", {.units = 200}), {.input = 0.5})});
//   RnnResult r = rnn(net, x);                             // x [time, batch, features]
//   RnnStep s = net(x_t, net.zero_state(x_t));             // or one step by hand: s.output, s.state
//
// A cell's variables are in a variable scope with the cell's name. The first call makes them; later calls in the same
// graph and enclosing scope find them, so a cell that is called at each step has one set of variables. Another cell of
// that name is an error there, thrown by get_variable(). Copies are the same cell.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/attributes.h"
#include "belfry/graph/variable.h"
#include "belfry/nn/layer.h"

#pragma GCC visibility push(default)
namespace belfry {

struct RnnStep {
  Tensor output{};  // [batch, output_size]
  Tensors state{};  // for the next step
};

class [[gnu::visibility("hidden")]] CellBody;

struct RnnCellOptions {
  Ints state{};             // the sizes of the tensors that make up the state: [batch, size] each
  std::int64_t output = 0;  // the size of the output [batch, output]; has no default
};

class RnnCell {
 public:
  using Step = std::function<RnnStep(const Tensor& x, const Tensors& state)>;

  // A cell that you write: `step` runs inside the cell's scope, so layers in it have their variables there.
  //
  //   RnnCell("sum", {.state = {8}, .output = 8}, [](const Tensor& x, const Tensors& state) {
  //     const Tensor h = relu(state[0] + (x | fully_connected("in", {.units = 8})));
  //     return RnnStep{.output = h, .state = {h}};
  //   });
  RnnCell(std::string_view name, const RnnCellOptions& options, Step step, const Location& where = Location::current());
  explicit RnnCell(std::shared_ptr<const CellBody> body) : body_(std::move(body)) {}

  // One step: x [batch, features], where features must be known; state_sizes() gives the sizes of the state.
  RnnStep operator()(const Tensor& x, const Tensors& state, const Location& where = Location::current()) const;

  const std::string& name() const;
  const Ints& state_sizes() const;
  std::int64_t output_size() const;
  // Zeros for as many rows as a tensor [batch, ...] has.
  Tensors zero_state(const Tensor& rows, DType dtype = DType::f32) const;

  // The cell for one sequence: what is drawn once for all of its steps (variational dropout) is drawn here, for an x
  // like that of a step. rnn() and unroll() call it; code that calls such a cell step by step has to call it too. Other
  // cells are returned unchanged.
  RnnCell begin(const Tensor& x) const;

  const CellBody& body() const { return *body_; }  // internal

 private:
  std::shared_ptr<const CellBody> body_;
};

struct LstmCellOptions {
  std::int64_t units = 0;  // has no default
  bool use_bias = true;
  double forget_bias = 0;  // what the forget gate's part of b is at first, where bias_initializer is not given
  Initializer kernel_initializer{};     // of W_x
  Initializer recurrent_initializer{};  // of W_h
  Initializer bias_initializer{};       // zeros
  Regularizer kernel_regularizer{};     // of W_x, and of W_h where the next is not given
  Regularizer recurrent_regularizer{};  // of W_h
  Regularizer bias_regularizer{};
};

struct GruCellOptions {
  std::int64_t units = 0;  // has no default
  bool use_bias = true;
  Initializer kernel_initializer{};     // of W_x
  Initializer recurrent_initializer{};  // of W_h
  Initializer bias_initializer{};       // of b and b_h: zeros
  Regularizer kernel_regularizer{};     // of W_x, and of W_h where the next is not given
  Regularizer recurrent_regularizer{};  // of W_h
  Regularizer bias_regularizer{};
};

struct PlainCellOptions {
  std::int64_t units = 0;  // has no default
  LayerActivation activation{LayerActivation::Op(tanh)};
  bool use_bias = true;
  Initializer kernel_initializer{};     // of W_x
  Initializer recurrent_initializer{};  // of W_h
  Initializer bias_initializer{};       // zeros
  Regularizer kernel_regularizer{};     // of W_x, and of W_h where the next is not given
  Regularizer recurrent_regularizer{};  // of W_h
  Regularizer bias_regularizer{};
};

// Dropout rates, used in training towers only.
struct DropoutCellOptions {
  double input = 0, output = 0;
  double state = 0;          // of the state passed to the next step; not of an LSTM's c
  bool variational = false;  // the same units at all steps of a sequence (Gal and Ghahramani 2016)
};

namespace cell {

// Variables W_x, W_h, b (and b_h of gru), like those of the layers lstm and gru: a stack "rnn" of cells "layer0",
// "layer1", ... has the variables of the layer lstm("rnn", {.layers = 2}).
RnnCell lstm(std::string_view name, const LstmCellOptions& options,
             const Location& where = Location::current());  // state h, c
RnnCell gru(std::string_view name, const GruCellOptions& options, const Location& where = Location::current());
// h' = activation(x W_x + b + h W_h)
RnnCell plain(std::string_view name, const PlainCellOptions& options, const Location& where = Location::current());

// The output of each is the input of the next; the state is the cells' states in order.
RnnCell stacked(std::string_view name, std::vector<RnnCell> cells, const Location& where = Location::current());

// These have the name and the state of the cell that they wrap.
RnnCell dropout(const RnnCell& around, const DropoutCellOptions& options, const Location& where = Location::current());
// Adds the input to the output, which must have the same size.
RnnCell residual(const RnnCell& around);

}  // namespace cell
}  // namespace belfry
#pragma GCC visibility pop
