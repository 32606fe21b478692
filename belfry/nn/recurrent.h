// Recurrent layers over sequences x [time, batch, features]: LSTM and GRU, stacked, with dropout between.
//
//   x | lstm("rnn", {.units = 200, .layers = 2, .dropout = 0.5})                    -> [time, batch, 200], from zeros
//   const LstmLayerResult r = lstm_with_state(x, "rnn", {.units = 200}, {state});   // r.output, r.last[0].h
//
// Variables of layer k, counted from 0: layer<k>/W_x [features, gates * units], layer<k>/W_h [units, gates * units],
// layer<k>/b [gates * units] and, for GRU, layer<k>/b_h. The order of the gates is PyTorch's (see ops/lstm.h, gru.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "belfry/graph/variable.h"
#include "belfry/nn/layer.h"
#include "belfry/ops/gru.h"
#include "belfry/ops/lstm.h"

#pragma GCC visibility push(default)
namespace belfry {

struct LstmLayerOptions {
  std::int64_t units = 0;  // has no default
  int layers = 1;
  double dropout = 0;        // of what a layer passes to the next, in training
  bool batch_first = false;  // x and the output are [batch, time, ...]
  bool use_bias = true;
  double forget_bias = 0;  // what the forget gate's part of b is at first, where bias_initializer is not given
  Initializer kernel_initializer{};     // of W_x
  Initializer recurrent_initializer{};  // of W_h
  Initializer bias_initializer{};       // zeros
  Regularizer kernel_regularizer{};     // of W_x, and of W_h where the next is not given
  Regularizer recurrent_regularizer{};  // of W_h
  Regularizer bias_regularizer{};
  Tensor lengths{};  // steps of each row, [batch]; see LstmOptions
};

struct GruLayerOptions {
  std::int64_t units = 0;  // has no default
  int layers = 1;
  double dropout = 0;        // of what a layer passes to the next, in training
  bool batch_first = false;  // x and the output are [batch, time, ...]
  bool use_bias = true;
  Initializer kernel_initializer{};     // of W_x
  Initializer recurrent_initializer{};  // of W_h
  Initializer bias_initializer{};       // of b and b_h: zeros
  Regularizer kernel_regularizer{};     // of W_x, and of W_h where the next is not given
  Regularizer recurrent_regularizer{};  // of W_h
  Regularizer bias_regularizer{};
  Tensor lengths{};  // steps of each row, [batch]; see GruOptions
};

Layer make_layer(std::string_view name, const LstmLayerOptions& options, const Location& where);
Layer make_layer(std::string_view name, const GruLayerOptions& options, const Location& where);

inline LayerMaker<LstmLayerOptions> lstm(const LstmLayerOptions& options) { return LayerMaker(options); }
inline Layer lstm(std::string_view name, const LstmLayerOptions& options, const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor lstm(const Tensor& x, std::string_view name, const LstmLayerOptions& options,
                   const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

inline LayerMaker<GruLayerOptions> gru(const GruLayerOptions& options) { return LayerMaker(options); }
inline Layer gru(std::string_view name, const GruLayerOptions& options, const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor gru(const Tensor& x, std::string_view name, const GruLayerOptions& options,
                  const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

// The same with initial states, one per layer or none (zeros), and with the final ones in the result.
struct LstmLayerResult {
  Tensor output{};
  std::vector<LstmState> last{};  // one per layer
};
LstmLayerResult lstm_with_state(const Tensor& x, std::string_view name, const LstmLayerOptions& options,
                                const std::vector<LstmState>& initial = {},
                                const Location& where = Location::current());

struct GruLayerResult {
  Tensor output{};
  Tensors last{};  // one per layer
};
GruLayerResult gru_with_state(const Tensor& x, std::string_view name, const GruLayerOptions& options,
                              const Tensors& initial = {}, const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
