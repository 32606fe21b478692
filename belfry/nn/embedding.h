// A table of learned vectors, one for each id: the first layer of most models of language.
//
//   ids | embedding("words", {.rows = 10000, .width = 200})          i32 or i64 [...] -> [..., 200]
//
// Optimizers update only the rows that a batch looks up (see ops/sparse_rows.h). An id outside [0, rows) ends the run
// with a NumericError.
#pragma once

#include <cstdint>
#include <string_view>

#include "belfry/graph/variable.h"
#include "belfry/nn/layer.h"

#pragma GCC visibility push(default)
namespace belfry {

// Variables: W [rows, width].
struct EmbeddingOptions {
  std::int64_t rows = 0, width = 0;  // have no default
  DType dtype = DType::f32;
  Initializer initializer{};
  Regularizer regularizer{};
};

Layer make_layer(std::string_view name, const EmbeddingOptions& options, const Location& where);

inline LayerMaker<EmbeddingOptions> embedding(const EmbeddingOptions& options) { return LayerMaker(options); }
inline Layer embedding(std::string_view name, const EmbeddingOptions& options,
                       const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor embedding(const Tensor& ids, std::string_view name, const EmbeddingOptions& options,
                        const Location& where = Location::current()) {
  return make_layer(name, options, where)(ids);
}

}  // namespace belfry
#pragma GCC visibility pop
