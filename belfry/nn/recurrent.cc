#include "belfry/nn/recurrent.h"

#include "belfry/base/check.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/nn/internal/recurrent_variables.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/random.h"

namespace belfry {
namespace {

Tensor swap_batch_and_time(const Tensor& x) { return transpose(x, {1, 0, 2}); }

template <class Options>
void check_options(const char* kind, const Options& o, const Tensor& x, std::size_t states) {
  BELFRY_CHECK(o.units > 0, "{} expected .units above 0, got {} {}", layer_title(kind), o.units, layer_line());
  BELFRY_CHECK(o.layers > 0, "{} expected .layers above 0, got {} {}", layer_title(kind), o.layers, layer_line());
  BELFRY_CHECK(o.dropout >= 0 && o.dropout < 1, "{} expected .dropout in [0, 1), got {} {}", layer_title(kind),
               o.dropout, layer_line());
  BELFRY_CHECK(states == 0 || states == static_cast<std::size_t>(o.layers),
               "{} expected an initial state for each of {} layers or none, got {} {}", layer_title(kind), o.layers,
               states, layer_line());
  check_rank(kind, x, 3, o.batch_first ? "sequences [batch, time, features]" : "sequences [time, batch, features]");
  known_size(kind, x, 2, "features");
}

// Layer after layer; step(k, x) builds layer k and returns what it passes on.
template <class Options, class Step>
Tensor stack(const char* kind, const Options& o, const Tensor& x, Step step) {
  Tensor y = o.batch_first ? swap_batch_and_time(x) : x;
  for (int k = 0; k < o.layers; ++k) {
    if (k > 0 && o.dropout > 0 && layer_trains(kind)) y = dropout(y, o.dropout);
    const VariableScope scope("layer" + std::to_string(k));
    y = step(static_cast<std::size_t>(k), y);
  }
  return o.batch_first ? swap_batch_and_time(y) : y;
}

Tensor build(const LstmLayerOptions& o, const Tensor& x, const std::vector<LstmState>& initial,
             std::vector<LstmState>& last) {
  check_options("lstm", o, x, initial.size());
  return stack("lstm", o, x, [&](std::size_t k, const Tensor& in) {
    const LstmResult r =
        lstm(in, lstm_weights(o, in), initial.empty() ? LstmState{} : initial[k], {.lengths = o.lengths});
    last.push_back(r.last);
    return r.h;
  });
}

Tensor build(const GruLayerOptions& o, const Tensor& x, const Tensors& initial, Tensors& last) {
  check_options("gru", o, x, initial.size());
  return stack("gru", o, x, [&](std::size_t k, const Tensor& in) {
    const GruResult r = gru(in, gru_weights(o, in), initial.empty() ? Tensor() : initial[k], {.lengths = o.lengths});
    last.push_back(r.last);
    return r.h;
  });
}

}  // namespace

LstmLayerResult lstm_with_state(const Tensor& x, std::string_view name, const LstmLayerOptions& options,
                                const std::vector<LstmState>& initial, const Location& where) {
  LstmLayerResult out;
  out.output = Layer(name, [&](const Tensor& t) { return build(options, t, initial, out.last); }, where)(x);
  return out;
}

GruLayerResult gru_with_state(const Tensor& x, std::string_view name, const GruLayerOptions& options,
                              const Tensors& initial, const Location& where) {
  GruLayerResult out;
  out.output = Layer(name, [&](const Tensor& t) { return build(options, t, initial, out.last); }, where)(x);
  return out;
}

Layer make_layer(std::string_view name, const LstmLayerOptions& options, const Location& where) {
  const auto body = [options](const Tensor& x) {
    std::vector<LstmState> last;
    return build(options, x, {}, last);
  };
  return Layer(name, body, where);
}

Layer make_layer(std::string_view name, const GruLayerOptions& options, const Location& where) {
  const auto body = [options](const Tensor& x) {
    Tensors last;
    return build(options, x, {}, last);
  };
  return Layer(name, body, where);
}

}  // namespace belfry
