#include "belfry/ops/internal/attention_checks.h"

#include <algorithm>
#include <cmath>

#include "belfry/base/check.h"

namespace belfry {
namespace {

// The common form of both kinds of inputs, [batch, heads, time, depth].
Shape by_heads(const Shape& x, std::int64_t heads) {
  if (x.rank() == 4) return x;
  return {x[0], heads, x[1], x[2] == kAny ? kAny : x[2] / heads};
}

void check_form(const ShapeContext& c, int q) {
  const std::int64_t heads = c.attributes().integer("heads");
  const Shape &query = c.input(q), &key = c.input(q + 1), &value = c.input(q + 2);
  BELFRY_CHECK((query.rank() == 3 || query.rank() == 4) && key.rank() == query.rank() && value.rank() == query.rank(),
               "expected q, k and v of rank 4 ([batch, heads, time, depth]) or 3 ([batch, time, heads * depth]), got "
               "{}, {} and {}",
               to_string(query), to_string(key), to_string(value));
  BELFRY_CHECK(heads >= 1, "expected .heads of 1 or more, got {}", heads);
  BELFRY_CHECK(query.rank() == 3 || heads == 1,
               "expected .heads for inputs of rank 3 only, got {} for {}, whose axis 1 counts the heads", heads,
               to_string(query));
  for (int i = q; i < q + 3; ++i) {
    BELFRY_CHECK(is_float(c.dtype(i)) && c.dtype(i) == c.dtype(q),
                 "expected q, k and v of one floating type, got {} and {}. Use cast()", name_of(c.dtype(q)),
                 name_of(c.dtype(i)));
    const std::int64_t last = c.input(i)[-1];
    BELFRY_CHECK(query.rank() == 4 || last == kAny || last % heads == 0,
                 "expected a last axis that divides into {} heads, got {}", heads, to_string(c.input(i)));
  }
}

}  // namespace

AttentionForms check_attention_inputs(const ShapeContext& c, int at) {
  check_form(c, at);
  const std::int64_t heads = c.attributes().integer("heads");
  const AttentionForms f{by_heads(c.input(at), heads), by_heads(c.input(at + 1), heads),
                         by_heads(c.input(at + 2), heads)};
  const auto agree = [](std::int64_t a, std::int64_t b) { return a == b || a == kAny || b == kAny; };
  BELFRY_CHECK(
      agree(f.q[0], f.k[0]) && agree(f.q[0], f.v[0]) && agree(f.k[0], f.v[0]) && agree(f.q[1], f.k[1]) &&
          agree(f.q[1], f.v[1]) && agree(f.q[3], f.k[3]) && agree(f.k[2], f.v[2]),
      "expected q, k and v that agree in batch and heads, q and k in depth, k and v in time, got {}, {} and {}",
      to_string(c.input(at)), to_string(c.input(at + 1)), to_string(c.input(at + 2)));
  BELFRY_CHECK(!c.attributes().flag("causal") || agree(f.q[2], f.k[2]),
               "expected as many queries as keys with .causal, got {} and {}. Use .mask", f.q[2], f.k[2]);
  return f;
}

void check_attention_mask(const ShapeContext& c, int at, const AttentionForms& f) {
  if (c.inputs() <= at) return;
  const Shape scores{f.q[0], f.q[1], f.q[2], f.k[2]};
  const Shape& mask = c.input(at);
  BELFRY_CHECK(c.dtype(at) == boolean || c.dtype(at) == c.dtype(0), "expected a mask of type bool or {}, got {}",
               name_of(c.dtype(0)), name_of(c.dtype(at)));
  bool fits = mask.rank() <= 4;
  for (int i = -1; fits && i >= -mask.rank(); --i)
    fits = mask[i] == scores[i] || mask[i] == 1 || mask[i] == kAny || scores[i] == kAny;
  BELFRY_CHECK(fits, "expected a mask that broadcasts to [batch, heads, queries, keys] = {}, got {}", to_string(scores),
               to_string(mask));
}

AttentionOptions attention_options(const Attributes& attributes) {
  return {.causal = attributes.flag("causal"),
          .scale = attributes.get<double>("scale"),
          .heads = attributes.integer("heads")};
}

double attention_scale(const Operand& q, const AttentionOptions& options) {
  if (options.scale != 0) return options.scale;
  const Tensor t = q.tensor();
  const std::int64_t last = t.rank() > 0 ? t.shape()[-1] : kAny;
  BELFRY_CHECK(last != kAny,
               "[attention] expected a known depth, from which the scale follows, got '{}' {} (made at {}). Give "
               ".scale.",
               t.name(), to_string(t.shape()), to_string(current_location(q.where())));
  return 1 / std::sqrt(std::max(
                 1.0, static_cast<double>(last) / static_cast<double>(std::max<std::int64_t>(1, options.heads))));
}

}  // namespace belfry
