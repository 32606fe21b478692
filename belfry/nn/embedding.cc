#include "belfry/nn/embedding.h"

#include "belfry/base/check.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/ops/gather.h"

namespace belfry {

Layer make_layer(std::string_view name, const EmbeddingOptions& o, const Location& where) {
  const auto look_up = [o](const Tensor& ids) {
    BELFRY_CHECK(o.rows > 0 && o.width > 0, "{} expected .rows and .width above 0, got {} and {} {}",
                 layer_title("embedding"), o.rows, o.width, layer_line());
    const Variable w = get_variable(
        "W",
        {.shape = {o.rows, o.width}, .dtype = o.dtype, .initializer = o.initializer, .regularizer = o.regularizer});
    return embedding_lookup(w, ids, "output");
  };
  return Layer(name, look_up, where);
}

}  // namespace belfry
