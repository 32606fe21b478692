#include "belfry/ops/sizes.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/internal/left_over.h"
#include "belfry/ops/internal/of_shape.h"

namespace belfry {
namespace {

std::optional<std::int64_t> known(std::int64_t size) { return size == kAny ? std::nullopt : std::optional(size); }

const OpRegistration shape_of_def = define_op("ShapeOf")
                                        .input("x")
                                        .output("shape")
                                        .shape_only(0)
                                        .dtype(i64)
                                        .shape([](const ShapeContext& c) { return Shape{c.input(0).rank()}; })
                                        .ints([](const ShapeContext& c) {
                                          KnownInts out;
                                          for (std::int64_t size : c.input(0)) out.push_back(known(size));
                                          return out;
                                        })
                                        .not_differentiable()
                                        .doc("The sizes of a tensor's dimensions.");

const OpRegistration size_of_def =
    define_op("SizeOf")
        .input("x")
        .output("size")
        .shape_only(0)
        .dtype(i64)
        .shape([](const ShapeContext&) { return Shape{}; })
        .ints([](const ShapeContext& c) {
          return KnownInts{known(c.input(0)[static_cast<int>(c.attributes().integer("axis"))])};
        })
        .not_differentiable()
        .doc("The size of one of a tensor's dimensions.");

void check_sizes(const ShapeContext& c, int input, int rank) {
  BELFRY_CHECK(c.dtype(input) == i64,
               "expected sizes of type i64, got {}. For the shape of a tensor, give shape_of(x).",
               name_of(c.dtype(input)));
  BELFRY_CHECK(c.input(input).rank() == rank, "expected {} as sizes, got {}{}", rank == 0 ? "scalars" : "a vector",
               to_string(c.input(input)), rank == 0 ? ". A vector of sizes is given without braces" : "");
}

// Numbers, and kAny in the places of scalars.
const OpRegistration pack_sizes_def =
    define_op("PackSizes")
        .inputs("scalars")
        .output("sizes")
        .dtype(i64)
        .shape([](const ShapeContext& c) {
          for (int i = 0; i < c.inputs(); ++i) check_sizes(c, i, 0);
          return Shape{static_cast<std::int64_t>(c.attributes().get<Ints>("numbers").size())};
        })
        .ints([](const ShapeContext& c) {
          KnownInts out;
          for (std::int64_t number : c.attributes().get<Ints>("numbers")) out.emplace_back(number);
          const Ints& places = c.attributes().get<Ints>("places");
          for (int i = 0; i < c.inputs(); ++i)
            out[static_cast<std::size_t>(places[static_cast<std::size_t>(i)])] =
                c.ints(i).empty() ? std::nullopt : c.ints(i)[0];
          return out;
        })
        .not_differentiable()
        .doc("Numbers and scalars combined in a vector.");

const OpRegistration complete_sizes_def =
    define_op("CompleteSizes")
        .input("x")
        .input("sizes")
        .output("complete")
        .shape_only(0)
        .dtype(i64)
        .shape([](const ShapeContext& c) {
          check_sizes(c, 1, 1);
          return c.input(1);
        })
        .ints([](const ShapeContext& c) {
          KnownInts out = c.ints(1);
          const auto open = std::ranges::find(out, std::optional(kAny));
          if (open == out.end()) return out;
          Ints sizes;
          for (const std::optional<std::int64_t>& size : out)
            if (size) sizes.push_back(*size);
          *open = sizes.size() == out.size() && c.input(0).is_concrete() ? left_over(c.input(0), sizes) : std::nullopt;
          return out;
        })
        .not_differentiable()
        .doc("Sizes in which the one that is -1 is replaced so that there are as many elements as x has.");

const OpRegistration of_shape_def =
    define_op("OfShape")
        .input("sizes")
        .output("y")
        .sizes(0)
        .dtype(u8)
        .shape([](const ShapeContext& c) {
          check_sizes(c, 0, 1);
          const std::int64_t rank = c.input(0)[0];
          BELFRY_CHECK(rank != kAny, "expected a vector of known length as sizes, got {}", to_string(c.input(0)));
          BELFRY_CHECK(rank <= kMaxRank, "expected at most {} sizes, got {}", kMaxRank, rank);
          Shape out;
          for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) {
            const std::optional<std::int64_t> size = c.ints(0).empty() ? std::nullopt : c.ints(0)[i];
            BELFRY_CHECK(!size || *size >= 0, "expected sizes of 0 or more, got {} for axis {}{}", *size, i,
                         *size == kAny ? ". One may be kAny, where the others divide the elements" : "");
            out.push_back(size.value_or(kAny));
          }
          return out;
        })
        .not_differentiable()
        .doc("A tensor of which only the shape is used.");

Tensor as_sizes(const Tensor& integers, std::string_view op) {
  BELFRY_CHECK(integers.dtype() == i64 || integers.dtype() == i32,
               "[{}] expected sizes of type i32 or i64, got {}. Use cast().", op, to_string(integers));
  return integers.dtype() == i64 ? identity(integers) : cast(integers, i64);  // an op's result, never a feed itself
}

}  // namespace

Tensor shape_of(const Operand& x, std::string_view name) { return add_tensor(shape_of_def, {x}, {.name = name}); }

Tensor size_of(const Operand& x, int axis, std::string_view name) {
  const std::int64_t positive = normalize_axis(x, axis, x.tensor().rank(), "size_of");
  return add_tensor(size_of_def, {x}, {.name = name, .attributes = {{"axis", positive}}});
}

Sizes::Sizes(const Shape& shape) : sizes_(shape.begin(), shape.end()) {}
Sizes::Sizes(const Ints& numbers) : sizes_(numbers.begin(), numbers.end()) {}

std::optional<Ints> Sizes::numbers() const {
  if (vector_ || !std::ranges::all_of(sizes_, &Size::is_number)) return std::nullopt;
  Ints out;
  for (const Size& size : sizes_) out.push_back(size.number());
  return out;
}

Tensor Sizes::tensor(std::string_view op) const {
  if (vector_) {
    BELFRY_CHECK(vector_.rank() == 1, "[{}] expected a vector as sizes, got '{}' {}. List scalars in braces.", op,
                 vector_.name(), to_string(vector_.shape()));
    return as_sizes(vector_, op);
  }
  Ints numbers, places;
  std::vector<Operand> scalars;
  for (const Size& size : sizes_) {
    if (!size.is_number()) {
      places.push_back(static_cast<std::int64_t>(numbers.size()));
      scalars.emplace_back(as_sizes(size.scalar(), op));
    }
    numbers.push_back(size.number());
  }
  return add_tensor(pack_sizes_def, scalars, {.attributes = {{"numbers", numbers}, {"places", places}}});
}

Tensor complete_sizes(const Tensor& x, const Sizes& sizes, std::string_view op) {
  return add_tensor(complete_sizes_def, {x, sizes.tensor(op)});
}

Tensor of_shape(const Sizes& sizes, std::string_view op) { return add_tensor(of_shape_def, {sizes.tensor(op)}); }

}  // namespace belfry
