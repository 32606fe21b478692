// Every pair of operands becomes one batched product of matrices [batch..., m, k] x [batch..., k, n], made of the axes
// that both have and the result keeps (batch), that both have and it sums over (k), and that only one has (m, n).
#include "belfry/ops/einsum.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/heads.h"
#include "belfry/ops/internal/einsum_equation.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"

namespace belfry {
namespace {

using Labels = std::string;  // one character per axis

// A tensor whose axes have names.
struct Named {
  Tensor tensor;
  Labels labels;
};

bool has(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }
std::int64_t axis_of(const Labels& labels, char label) { return static_cast<std::int64_t>(labels.find(label)); }
Labels only(const Labels& labels, const Labels& of) {
  Labels out;
  std::ranges::copy_if(labels, std::back_inserter(out), [&](char label) { return has(of, label); });
  return out;
}
Labels without(const Labels& labels, const Labels& gone) {
  Labels out;
  std::ranges::copy_if(labels, std::back_inserter(out), [&](char label) { return !has(gone, label); });
  return out;
}

Named permuted(const Named& x, const Labels& order) {
  if (x.labels == order) return x;
  Ints axes;
  for (char label : order) axes.push_back(axis_of(x.labels, label));
  return {transpose(x.tensor, axes), order};
}

Named summed(const Named& x, const Labels& over) {
  if (over.empty()) return x;
  Ints axes;
  for (char label : over) axes.push_back(axis_of(x.labels, label));
  return {reduce_sum(x.tensor, {.axes = axes}), without(x.labels, over)};
}

// With axes of size 1 for the labels that x lacks.
Tensor aligned(const Named& x, const Labels& order) {
  const Tensor t = permuted(x, only(order, x.labels)).tensor;
  Ints missing;
  for (char label : order)
    if (!has(x.labels, label)) missing.push_back(axis_of(order, label));
  return missing.empty() ? t : expand_dims(t, missing);
}

// x, checked in the run to have the sizes of `like` for common letters, where these are not known yet: only "..." may
// broadcast.
Tensor size_checked(const Named& x, const Named& like) {
  Ints axes, like_axes;
  for (char label : only(x.labels, like.labels)) {
    const std::int64_t axis = axis_of(x.labels, label), other = axis_of(like.labels, label);
    const bool known =
        x.tensor.shape()[static_cast<int>(axis)] != kAny && like.tensor.shape()[static_cast<int>(other)] != kAny;
    if (known || !is_einsum_letter(label)) continue;
    axes.push_back(axis);
    like_axes.push_back(other);
  }
  return axes.empty() ? x.tensor : match_sizes(x.tensor, axes, like.tensor, like_axes);
}

// For a letter that occurs twice in a term: 0 off the diagonal of its axes, then the sum of each row.
Named diagonals_taken(Named x) {
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    const std::size_t again = x.labels.find(x.labels[i], i + 1);
    if (again == Labels::npos) continue;
    const auto row = static_cast<std::int64_t>(i), column = static_cast<std::int64_t>(again);
    Ints order;
    Labels labels;
    for (std::int64_t axis = 0; axis < x.tensor.rank(); ++axis)
      if (axis != row && axis != column) {
        order.push_back(axis);
        labels += x.labels[static_cast<std::size_t>(axis)];
      }
    order.insert(order.end(), {row, column});
    Tensor t = transpose(x.tensor, order);
    if (t.shape()[-1] == kAny || t.shape()[-2] == kAny) t = match_sizes(t, {t.rank() - 1}, t, {t.rank() - 2});
    return diagonals_taken({reduce_sum(band_part(t, 0, 0), {.axes = {-1}}), labels + x.labels[i]});
  }
  return x;
}

// The last `count` axes as one; for a count of 0, a new one of size 1.
Tensor last_merged(Tensor t, std::size_t count) {
  if (count == 0) return expand_dims(t, -1);
  for (std::size_t i = 1; i < count; ++i) t = merge_last_axes(t);
  return t;
}

// [batch..., first, second], or with those two in the other order if that saves moving elements.
struct Matrices {
  Tensor tensor;
  bool transposed = false;
};

Matrices matrices(const Named& x, const Labels& batch, const Labels& first, const Labels& second) {
  const bool transposed = x.labels == batch + second + first && x.labels != batch + first + second;
  const Labels &rows = transposed ? second : first, &columns = transposed ? first : second;
  const Tensor t = last_merged(permuted(x, batch + rows + columns).tensor, columns.size());
  if (rows.empty()) return {expand_dims(t, -2), transposed};
  if (rows.size() == 1) return {t, transposed};
  if (batch.empty()) return {flatten_rows(t), transposed};
  const Shape& shape = t.shape();
  const int front = static_cast<int>(batch.size());
  if (shape.is_concrete()) {
    Shape out = shape.slice(0, front);
    out.push_back(shape.slice(front, shape.rank() - 1).elements());
    out.push_back(shape[-1]);
    return {reshape(t, out), transposed};
  }
  // Several sizes are unknown until a step is fed: only the last axes can be merged then.
  Ints columns_first;
  for (int axis = 0; axis < front; ++axis) columns_first.push_back(axis);
  columns_first.push_back(shape.rank() - 1);
  for (int axis = front; axis < shape.rank() - 1; ++axis) columns_first.push_back(axis);
  return {last_merged(transpose(t, columns_first), rows.size()), !transposed};
}

// Splits the merged rows and columns of [batch..., rows, columns] into the axes of a and b.
Named unmerged(const Tensor& product, const Labels& batch, const Named& a, const Named& b) {
  const Labels rows = without(a.labels, batch), columns = without(b.labels, batch);
  Shape shape = product.shape().slice(0, static_cast<int>(batch.size()));
  for (char label : rows) shape.push_back(a.tensor.shape()[static_cast<int>(axis_of(a.labels, label))]);
  for (char label : columns) shape.push_back(b.tensor.shape()[static_cast<int>(axis_of(b.labels, label))]);
  const Labels all = batch + rows + columns;
  if (shape.is_concrete()) return {reshape(product, shape), all};
  // Only the shape of this sum is used; it is never computed.
  return {reshape_like(product, aligned(a, all) + aligned(b, all)), all};
}

Named matrix_product(const Named& a, const Named& b, const Labels& batch, const Labels& inner, const Labels& wanted) {
  const Labels rows = only(without(wanted, batch), a.labels), columns = only(without(wanted, batch), b.labels);
  Matrices left;
  if (batch.empty() && rows.size() > 1)  // one matrix for all: the rows may keep their axes
    left.tensor = last_merged(permuted(a, rows + inner).tensor, inner.size());
  else
    left = matrices(a, batch, rows, inner);
  const Matrices right = matrices(b, batch, inner, columns);
  const Tensor y = matmul(left.tensor, right.tensor, {.transpose_a = left.transposed, .transpose_b = right.transposed});
  const bool rows_are_there = rows.size() == 1 || (batch.empty() && !rows.empty());
  if (rows_are_there && columns.size() == 1) return {y, batch + rows + columns};
  return unmerged(y, batch, permuted(summed(a, inner), batch + rows), permuted(summed(b, inner), batch + columns));
}

// The sum of products over the labels that `wanted` lacks.
Named product(Named a, Named b, const Labels& wanted) {
  a = summed(a, without(a.labels, wanted + b.labels));
  b = summed(b, without(b.labels, wanted + a.labels));
  a.tensor = size_checked(a, b);
  const Labels both = only(a.labels, b.labels), batch = only(wanted, both), inner = without(both, wanted);
  const Labels free = without(only(wanted, a.labels + b.labels), batch);
  if (inner.empty() || free.empty()) {
    const Labels order = only(wanted, a.labels + b.labels) + inner;
    return summed({aligned(a, order) * aligned(b, order), order}, inner);
  }
  // The operand whose axes come first in the result is the left one.
  return has(a.labels, free[0]) ? matrix_product(a, b, batch, inner, wanted)
                                : matrix_product(b, a, batch, inner, wanted);
}

// The labels that are needed once operand `last` has been combined: the result's, then those of later operands.
Labels needed_after(const EinsumEquation& equation, std::size_t last) {
  Labels out = equation.output;
  for (std::size_t i = last + 1; i < equation.terms.size(); ++i)
    for (char label : equation.terms[i])
      if (!has(out, label)) out += label;
  return out;
}

Tensors checked(std::string_view equation, const std::vector<Operand>& operands, const std::string& line) {
  Tensors out;
  for (const Operand& operand : operands) {
    out.push_back(operand.tensor());
    BELFRY_CHECK(static_cast<bool>(out.back()), "[einsum \"{}\"] expected tensors, got an empty handle {}", equation,
                 line);
    const DType dtype = out.back().dtype(), first = out.front().dtype();
    BELFRY_CHECK(operands.size() == 1 || (is_float(dtype) && dtype == first),
                 "[einsum \"{}\"] expected operands of one floating type, got {} and {} {}. Use cast().", equation,
                 name_of(first), name_of(dtype), line);
  }
  return out;
}

}  // namespace

Tensor einsum(std::string_view equation, const std::vector<Operand>& operands, std::string_view name) {
  BELFRY_CHECK(!operands.empty(), "[einsum \"{}\"] expected one operand for each term, got none", equation);
  const Location where = current_location(operands[0].where());
  const LocationScope location(where);
  const std::string line = fmt::format("(made at {})", to_string(where));
  const Tensors tensors = checked(equation, operands, line);
  const EinsumEquation read = read_einsum(equation, tensors, line);
  Named y = diagonals_taken({tensors[0], read.terms[0]});
  for (std::size_t i = 1; i < tensors.size(); ++i)
    y = product(y, diagonals_taken({tensors[i], read.terms[i]}), needed_after(read, i));
  y = permuted(summed(y, without(y.labels, read.output)), read.output);
  return name.empty() && y.tensor != tensors[0] ? y.tensor : identity(y.tensor, name);
}

}  // namespace belfry
