#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/internal/of_shape.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

// A repeated axis counts as two for the kernel: which copy, and where in it.
void check_axes(const Shape& x, int axes) {
  BELFRY_CHECK(axes <= kMaxRank,
               "expected at most {} dimensions, those that are repeated counted twice, got {} for {}. Reshape first",
               kMaxRank, axes, to_string(x));
}

Shape tiled(const Shape& x, const Ints& multiples) {
  BELFRY_CHECK(static_cast<int>(multiples.size()) == x.rank(),
               "expected a multiple for each of the {} dimensions of {}, got {}", x.rank(), to_string(x),
               multiples.size());
  Shape out = x;
  int axes = 0;
  for (int i = 0; i < x.rank(); ++i) {
    const std::int64_t multiple = multiples[static_cast<std::size_t>(i)];
    BELFRY_CHECK(multiple >= 0, "expected multiples of 0 or more, got {} for axis {}", multiple, i);
    if (x[i] != kAny) out.set(i, x[i] * multiple);
    axes += multiple != 1 && x[i] != 1 ? 2 : 1;
  }
  check_axes(x, axes);
  return out;
}

Tensor tile_grad(const Tensor& x, const Tensor& dy, const Ints& multiples);

const OpRegistration tile_def =
    define_op("Tile")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) { return tiled(c.input(0), c.attributes().get<Ints>("multiples")); })
        .gradient([](const GradientContext& c) {
          return Tensors{tile_grad(c.input(0), c.grad(), c.attributes().get<Ints>("multiples"))};
        })
        .doc("A tensor repeated along its axes.");

const OpRegistration tile_grad_def =
    define_op("TileGrad")
        .input("x")
        .input("dy")
        .output("dx")
        .shape_only(0)
        .shape([](const ShapeContext& c) {
          const Shape whole = tiled(c.input(0), c.attributes().get<Ints>("multiples"));
          BELFRY_CHECK(compatible(whole, c.input(1)), "expected a gradient of shape {}, got {}", to_string(whole),
                       to_string(c.input(1)));
          return c.input(0);
        })
        .dtype([](const ShapeContext& c) { return std::vector{c.dtype(1)}; })
        .gradient([](const GradientContext& c) {
          return Tensors{Tensor(), tile(c.grad(), c.attributes().get<Ints>("multiples"))};
        })
        .doc("The gradient of Tile: the sum over all copies.");

Tensor tile_grad(const Tensor& x, const Tensor& dy, const Ints& multiples) {
  return add_tensor(tile_grad_def, {x, dy}, {.attributes = {{"multiples", multiples}}});
}

// How often a tensor is repeated to become another; unknown where either is.
Shape tiles_in(const Shape& x, const Shape& whole) {
  BELFRY_CHECK(x.rank() == whole.rank(), "expected tensors of one rank, got {} and {}", to_string(x), to_string(whole));
  int axes = 0;
  for (int i = 0; i < x.rank(); ++i) {
    const bool known = x[i] != kAny && whole[i] != kAny;
    BELFRY_CHECK(!known || (x[i] == 0 ? whole[i] == 0 : whole[i] % x[i] == 0),
                 "expected whole copies of {} in {}, got {} of size {} along axis {}", to_string(x), to_string(whole),
                 whole[i], x[i], i);
    axes += known && whole[i] != x[i] && x[i] != 1 ? 2 : 1;
  }
  check_axes(x, axes);
  return whole;
}

Tensor sum_tiles_like(const Tensor& x, const Tensor& like);
Tensor tile_like(const Tensor& x, const Tensor& like, std::string_view name = "");

const OpRegistration tile_like_def =
    define_op("TileLike")
        .input("x")
        .input("like")
        .output("y")
        .shape_only(1)
        .shape([](const ShapeContext& c) { return tiles_in(c.input(0), c.input(1)); })
        .gradient([](const GradientContext& c) { return Tensors{sum_tiles_like(c.grad(), c.input(0)), Tensor()}; })
        .doc("A tensor repeated along its axes to another's shape.");

const OpRegistration sum_tiles_like_def =
    define_op("SumTilesLike")
        .input("x")
        .input("like")
        .output("y")
        .shape_only(1)
        .shape([](const ShapeContext& c) {
          tiles_in(c.input(1), c.input(0));
          return c.input(1);
        })
        .gradient([](const GradientContext& c) { return Tensors{tile_like(c.grad(), c.input(0)), Tensor()}; })
        .doc("The sum over all copies of another tensor's shape.");

Tensor sum_tiles_like(const Tensor& x, const Tensor& like) { return add_tensor(sum_tiles_like_def, {x, like}); }
Tensor tile_like(const Tensor& x, const Tensor& like, std::string_view name) {
  return add_tensor(tile_like_def, {x, like}, {.name = name});
}

}  // namespace

Tensor tile(const Operand& x, const Sizes& multiples, std::string_view name) {
  if (const std::optional<Ints> known = multiples.numbers())
    return add_tensor(tile_def, {x}, {.name = name, .attributes = {{"multiples", *known}}});
  const LocationScope location(x.where());
  const Tensor t = x.tensor();
  Tensor each = multiples.tensor("tile");
  BELFRY_CHECK(
      compatible(each.shape(), Shape{t.rank()}),
      "[tile] expected a multiple for each of the {} dimensions of {}, got {} (made at {}). Use 1 for those that "
      "stay the same.",
      t.rank(), to_string(t), to_string(each.shape()), to_string(current_location(x.where())));
  if (each.shape()[0] == kAny) each = reshape(each, {t.rank()});  // else a vector of one would broadcast to all
  return tile_like(t, of_shape(shape_of(t) * each, "tile"), name);
}

}  // namespace belfry
