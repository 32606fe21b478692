// Sums of products by the names of the axes.
//
//   einsum("ij,jk->ik", {a, b})              a product of matrices; einsum("ij,jk", {a, b}) is the same
//   einsum("bqhd,bkhd->bhqk", {q, k})        scores of attention
//   einsum("...i,...i->...", {a, b})         the dot products of vectors, in batches of any shape
//   einsum("ii->i", {a})                     a diagonal; einsum("ii", {a}) is its sum, the trace
#pragma once

#include <concepts>
#include <string_view>
#include <vector>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// One term of letters for each operand, one letter for each axis; then "->" and the letters of the result. A letter
// that the result lacks is summed over. Without "->" the result has "..." and the letters that occur once, in the order
// of the alphabet (capitals first). A letter has one size wherever it occurs; "..." is any number of axes, which
// broadcast as NumPy's do. More than two operands are combined from left to right.
Tensor einsum(std::string_view equation, const std::vector<Operand>& operands, std::string_view name = "");
template <std::same_as<Tensor> T>  // a template, so that braces mean operands
Tensor einsum(std::string_view equation, const std::vector<T>& tensors, std::string_view name = "",
              const Location& where = Location::current()) {
  std::vector<Operand> operands;
  for (const Tensor& t : tensors) operands.emplace_back(t, where);
  return einsum(equation, operands, name);
}

}  // namespace belfry
#pragma GCC visibility pop
