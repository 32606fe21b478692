// The norms that lars and lamb need before they update a variable, or some rows of a table: one pass that only reads.
// Sums are made block by block and added up in the blocks' order, so the bits do not depend on the number of threads.
#pragma once

#include <cstddef>

#include "belfry/engine/cpu/optimizer/optimizer_rows.h"
#include "belfry/engine/cpu/optimizer/update_norms_simd.h"

namespace belfry {

using simd::UpdateNorms;

// Scratch that update_norms() needs for n weights, or for as many rows of this width.
std::size_t norm_scratch_bytes(std::int64_t n);
std::size_t norm_scratch_bytes(std::int64_t rows, std::int64_t width);

// Sums of squares, see update_norms_simd.h. T is float or double.
template <class T>
UpdateNorms update_norms(const UpdateStep& step, const UpdateBuffers<T>& buffers, std::int64_t n, void* scratch,
                         Isa isa = cpu_isa());
template <class T>
UpdateNorms update_norms(const UpdateStep& step, const UpdateBuffers<T>& buffers, const UpdatedRows& rows,
                         void* scratch, Isa isa = cpu_isa());

}  // namespace belfry
