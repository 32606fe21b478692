// Ops that compare, count, sort, draw and make numbers: see device_row.h.
#include <limits>

#include "belfry/graph/op_def.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/internal/box_at.h"
#include "belfry/ops/internal/of_shape.h"
#include "belfry/ops/logic.h"
#include "belfry/ops/mask.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/sampling.h"
#include "belfry/ops/sort.h"
#include "belfry/ops/strided_slice.h"
#include "belfry/ops/top_k.h"
#include "belfry/ops/unique.h"
#include "tests/ops/device_row.h"

namespace belfry {
namespace {

using G = RowGraph&;
using RowMaker = std::function<Fetches(G)>;
using Unary = Tensor (*)(const Operand& x, std::string_view name);
using Binary = Tensor (*)(const Operand& a, const Operand& b, std::string_view name);

// Planning folds what follows from shapes, up to 2^20 elements: so many are left to the devices.
constexpr std::int64_t kMany = (1 << 20) + 1;

Tensor odd_floats(G g) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  return g.fed(Array::of<float>({10}, {-2.5f, -1.5f, -0.5f, -0.f, 0.5f, 1.5f, 2.49f, kNan, kInf, -kInf}));
}
Tensor many(G g) { return g.fed(Array::zeros(u8, {kMany})); }
Tensor number(G g, std::int64_t value) { return g.fed(Array(value)); }

RowMaker of_odd_floats(Unary op) {
  return [op](G g) { return op(odd_floats(g), ""); };
}
RowMaker compared(Binary op) {
  return [op](G g) {
    return Fetches{op(g.ints({3, 4}, 3), g.ints({4}, 3), ""), op(odd_floats(g), 0.5f, ""),
                   op(g.bools({5}), g.bools({5}), "")};
  };
}
RowMaker of_bools(Binary op) {
  return [op](G g) { return op(g.bools({3, 4}), g.bools({3, 1}), ""); };
}
RowMaker of_shape_of_many(Unary op) {
  return [op](G g) { return op(many(g), ""); };
}
// Both bounds and, behind the cut of the run, the size.
Fetches computed_slice(G g) {
  return strided_slice(g.floats({5, 3}), {{.begin = number(g, -4), .end = number(g, 5), .step = 2}});
}

const bool pointwise = device_rows({
    {"Equal", compared(equal)},
    {"NotEqual", compared(not_equal)},
    {"Less", compared(less)},
    {"LessEqual", compared(less_equal)},
    {"Greater", compared(greater)},
    {"GreaterEqual", compared(greater_equal)},
    {"LogicalAnd", of_bools(logical_and)},
    {"LogicalOr", of_bools(logical_or)},
    {"LogicalXor", of_bools(logical_xor)},
    {"LogicalNot", [](G g) { return logical_not(g.bools({7})); }},
    {"IsNan", of_odd_floats(is_nan)},
    {"IsInf", of_odd_floats(is_inf)},
    {"IsFinite", of_odd_floats(is_finite)},
    {"Sign", of_odd_floats(sign)},
    {"Floor", of_odd_floats(floor)},
    {"Ceil", of_odd_floats(ceil)},
    {"Round", of_odd_floats(round)},
    {"FloorDiv",
     [](G g) {
       return Fetches{floordiv(g.ints({3, 4}, 9) - 4, g.ints({4}, 4) - 1), floordiv(g.floats({6}), g.floats({6}))};
     }},
    {"ZerosLike", of_shape_of_many(zeros_like)},
    {"OnesLike", of_shape_of_many(ones_like)},
    {"Cast",
     [](G g) {
       const Tensor x = odd_floats(g);
       return Fetches{cast(x, i32), cast(x, i64), cast(x, u8), cast(x, boolean), cast(g.ints({5}, 999), u8)};
     }},
});

const bool reductions = device_rows({
    {"ReduceAny", [](G g) { return reduce_any(g.bools({4, 3}), {.axes = {1}}); }},
    {"ReduceAll", [](G g) { return reduce_all(g.bools({4, 3}), {.axes = {0}}); }},
    {"ReducedCount",
     [](G g) { return add_tensor(find_op("ReducedCount"), {g.floats({2, 3})}, {.attributes = {{"axes", Ints{1}}}}); }},
    {"ArgMax", [](G g) { return Fetches{argmax(g.ints({3, 4}, 3)), argmax(g.floats({3, 4}), 0)}; }},
    {"InTopK", [](G g) { return in_top_k(g.floats({6, 5}), g.ints({6}, 5), 2); }},
    {"ArgSort",
     [](G g) {
       return Fetches{argsort(g.ints({2, 9}, 4)), argsort(g.floats({3, 4}), 0, SortOrder::descending),
                      argsort(odd_floats(g))};
     }},
    {"TopK", [](G g) { return Fetches{top_k(g.ints({2, 9}, 4), 3).indices, top_k(odd_floats(g), 2).indices}; }},
    {"UniqueWithCounts",
     [](G g) {
       const UniqueCounts u = unique_with_counts(g.ints({9}, 4));
       return Fetches{u.values, u.index, u.counts, u.size};
     }},
    // How many follows from data: the run is cut in two.
    {"TruePlaces",
     [](G g) { return Fetches{nonzero(g.bools({3, 4})), boolean_mask(g.ints({5, 2}, 9), g.bools({5}))}; }},
});

const bool sizes = device_rows({
    {"ShapeOf", [](G g) { return shape_of(g.floats({2, 0, 3})); }},
    {"SizeOf", [](G g) { return size_of(g.floats({2, 3}), -1); }},
    {"PackSizes", [](G g) { return Sizes{number(g, 4), 2, number(g, -1)}.tensor("row"); }},
    {"CompleteSizes",
     [](G g) { return complete_sizes(g.floats({2, 3}), g.fed(Array::of<std::int64_t>({2}, {-1, 2})), "row"); }},
    {"BoxSizes",
     [](G g) {
       return box_sizes(g.floats({5, 4}), g.fed(Array::of<std::int64_t>({2}, {2, 1})),
                        g.fed(Array::of<std::int64_t>({2}, {-1, 2})));
     }},
    {"OfShape", [](G g) { return fill({number(g, 3), 2}, 1.5); }},
    {"RangeBegins", computed_slice},
    {"RangeCounts", computed_slice},
    {"Fill", [](G) { return Fetches{fill({2, 3}, 0.5), fill({3}, 7, i32), fill({}, 1, boolean)}; }},
    {"FillLike", [](G g) { return fill(shape_of(many(g)), 3, u8); }},
    {"OneHot",
     [](G g) { return Fetches{one_hot(g.ints({2, 3}, 5), 4), one_hot(g.ints({3}, 5), 4, {.dtype = i32, .axis = 0})}; }},
    {"OneHotLike", [](G g) { return one_hot(g.ints({4}, 5), number(g, 3), {.on = 5, .off = -1}); }},
    {"Range", [](G) { return Fetches{range({.limit = 5}), range({.start = 2, .delta = -0.25, .dtype = f32})}; }},
    {"RangeLike", [](G g) { return range(0, size_of(many(g), 0)); }},
});

// A value is a function of the seeds and the step: the devices draw the same.
const bool random_numbers = device_rows({
    {"RandomUniform", [](G) { return random_uniform({3, 5}, {.low = -1, .high = 3}); }, Floats::same},
    {"RandomUniformLike", [](G g) { return random_uniform(shape_of(g.floats({3, 5}))); }, Floats::same},
    {"RandomNormal", [](G) { return random_normal({7}, {.mean = 1, .stddev = 2}); }, Floats::same},
    {"RandomNormalLike", [](G g) { return random_normal({number(g, 3), 5}); }, Floats::same},
    {"TruncatedNormal", [](G) { return truncated_normal({3, 5}); }, Floats::same},
    {"TruncatedNormalLike", [](G g) { return truncated_normal(shape_of(g.floats({9}))); }, Floats::same},
    {"Bernoulli", [](G g) { return Fetches{bernoulli(g.floats({50}, 0, 1)), bernoulli(fill({9}, 0.5))}; },
     Floats::same},
    {"Categorical", [](G g) { return categorical(g.floats({3, 4}), 8); }},
    {"RandomPermutation", [](G g) { return random_shuffle(g.ints({9, 2}, 99)); }},
});

}  // namespace
}  // namespace belfry
